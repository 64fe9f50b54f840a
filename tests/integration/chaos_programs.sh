#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Real programs under faults: the same seed gives the same output and the same log, every fault that struck is in the log, nothing hangs, and the
# tool does not fail. What the program makes of its faults is its own business. HERMIT_FAULT_SEEDS says how many seeds; `make soak` tries more, and
# PostgreSQL.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
seeds=${HERMIT_FAULT_SEEDS:-1}
RUN_LIMIT=300

cat >program.py <<'END'
import os, random, socket, subprocess, tempfile, threading, time

def attempt(what, *args):
    try:
        print(what.__name__, what(*args), flush=True)
    except Exception as e:
        print(what.__name__, type(e).__name__, e, flush=True)

def files():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "file.data")
        with open(path, "w") as f:
            f.write("line\n" * 2000)
        with open(path) as f:
            return len(f.read())

def processes():
    return subprocess.run(["sh", "-c", "seq 300 | sort -r | head -n 3"], capture_output=True, text=True).stdout.split()

def threads():
    done = []
    def work(n):
        for _ in range(5):
            time.sleep(random.random() / 1000)
            done.append(n)
    all = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in all:
        t.start()
    for t in all:
        t.join()
    return done

def streams():
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    server, _ = listener.accept()
    with listener, client, server:
        client.sendall(b"x" * 5000)
        client.shutdown(socket.SHUT_WR)
        got = b""
        while part := server.recv(1000):
            got += part
        return len(got)

def datagrams():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        s.settimeout(0.1)
        for n in range(5):
            s.sendto(b"%d" % n, s.getsockname())
        return [s.recv(10) for _ in range(5)]

def clocks():
    return time.time(), time.monotonic()

for what in (files, processes, threads, streams, datagrams, clocks):
    attempt(what)
END
cat >program.go <<'END'
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

func echo() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	go func() {
		server, err := listener.Accept()
		if err == nil {
			io.Copy(server, server)
			server.Close()
		}
	}()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return 0, err
	}
	defer client.Close()
	client.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err = client.Write([]byte(strings.Repeat("x", 5000))); err != nil {
		return 0, err
	}
	client.(*net.TCPConn).CloseWrite()
	got, err := io.ReadAll(client)
	return len(got), err
}

func pipes() (string, error) {
	out, err := exec.Command("sh", "-c", "seq 100 | tail -n 1").Output()
	return strings.TrimSpace(string(out)), err
}

func files() (int, error) {
	if err := os.WriteFile("go.data", []byte(strings.Repeat("line\n", 2000)), 0o600); err != nil {
		return 0, err
	}
	text, err := os.ReadFile("go.data")
	return len(text), err
}

func main() {
	start := time.Now()
	var group sync.WaitGroup
	results := make([]string, 3)
	for i, f := range []func() string{
		func() string { n, err := echo(); return fmt.Sprint("echo ", n, err) },
		func() string { s, err := pipes(); return fmt.Sprint("pipes ", s, err) },
		func() string { n, err := files(); return fmt.Sprint("files ", n, err) },
	} {
		group.Add(1)
		go func(i int, f func() string) { defer group.Done(); results[i] = f() }(i, f)
	}
	group.Wait()
	fmt.Println(strings.Join(results, "\n"))
	fmt.Println(time.Since(start))
}
END
cat >program.sh <<'END'
for word in one two three; do echo $word | sed 's/^/line /'; done | sort >words; cat words
trap 'echo child' CHLD
seq 2000 | while read -r n; do echo $n; done | awk '{ s += $1 } END { print s }'
sleep 0.1 & wait; date +%s.%N
END
cat >program.sql <<'END'
create table t(a integer primary key, b text);
insert into t(b) select hex(randomblob(4)) from (select 1 union select 2 union select 3) a, (select 1 union select 2 union select 3) b;
begin; update t set b = 'x' where a < 5; commit;
select count(*), min(b), max(a) from t; select datetime();
END

# strikes NAME COMMAND...: the program under each kind of fault.
strikes()
{
	local name=$1 fault seed struck=0 n=0
	shift
	for fault in short:0.3 eintr:0.2 eagain:0.1 enospc:0.05 nomem:0.02 reset:0.1 udp-drop:0.4 udp-delay:0.4 latency:0.1 clock-jump:0.05; do
		for seed in $(seq "$seeds"); do
			n=$((n + 1))
			progress "$n" $((10 * seeds)) "$name with $fault, seed $seed"
			both "$name" "$fault" "$seed" "$@"
		done
	done
	printf '%s: %d faults\n' "$name" "$struck"
	ok "$name: some faults strike" [ "$struck" -gt 0 ]
}

# both NAME FAULT SEED COMMAND...: twice, once in a fresh directory each.
both()
{
	local name=$1 fault=$2 seed=$3 what="$1 with --fault=$2, seed $3" n
	shift 3
	for n in 1 2; do
		rm -rf directory && mkdir directory
		status=0
		(cd directory && timeout -s KILL "$(at_most "$RUN_LIMIT")" "$hermit" run -q --fault="$fault" --fault-seed="$seed" --bind="$work/programs:/programs" \
			--log-events="$work/log.$n" --report="$work/report.$n" -- "$@") >"$work/out" 2>"$work/err" </dev/null || status=$?
		cp "$work/out" "out.$n"
		cp "$work/err" "err.$n"
		echo "$status" >"status.$n"
		checks=$((checks + 1))
		case $status in 118 | 119 | 12[0-5] | 137) fail "$what: status $status" ;; esac
		struck=$((struck + $(jq '[.faults[].struck] | add' "report.$n")))
		ok "$what: each fault is in the log" \
			[ "$(jq '[.faults[].struck] | add' "report.$n")" = "$("$hermit" log-print "log.$n" | grep -c ' fault ')" ]
	done
	for n in out err status; do
		ok "$what: the same again, $n" cmp "$n.1" "$n.2"
	done
	ok "$what: the same again, log" cmp log.1 log.2
}

# Natively the clock alone makes them differ.
for n in 1 2; do
	sh program.sh >"native.$n" 2>&1
done
ok "natively two runs differ" [ "$(cat native.1)" != "$(cat native.2)" ]

mkdir programs
cp program.* programs
tried=0
if command -v go >/dev/null; then
	GOCACHE=$work/cache GOPATH=$work/go go build -o programs/go-program program.go || exit 99
	strikes go /programs/go-program
	tried=$((tried + 1))
fi
if [ -x /usr/bin/python3 ]; then
	strikes python /usr/bin/python3 /programs/program.py
	tried=$((tried + 1))
fi
if command -v sqlite3 >/dev/null; then
	strikes sqlite sh -c 'sqlite3 file.db </programs/program.sql; sqlite3 file.db "pragma integrity_check"'
	tried=$((tried + 1))
fi
if command -v redis-server >/dev/null; then
	strikes redis sh -c 'redis-server --port 6399 --save "" --daemonize no >log 2>&1 &
		for n in 1 2 3 4 5 6 7 8; do redis-cli -p 6399 ping && break; sleep 0.1; done
		redis-cli -p 6399 set a 1; redis-cli -p 6399 incr a; redis-cli -p 6399 time; redis-cli -p 6399 shutdown nosave; kill $!; wait; cat log'
	tried=$((tried + 1))
fi
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort | tail -n 1)
if [ -n "${HERMIT_FAULT_SEEDS:-}" ] && [ -x "$bin/initdb" ]; then
	# shellcheck disable=SC2016 # for the shell inside
	strikes postgres sh -c 'export HOME=$PWD PATH=$1:$PATH
		if [ "$(id -u)" = 0 ]; then chmod 777 .; as="setpriv --reuid=65534 --regid=65534 --clear-groups"; fi
		$as initdb -D data -A trust -U me --no-locale >log 2>&1 || exit 1
		$as pg_ctl -D data -w -l log -o "-k $PWD -h 127.0.0.1 -p 5433" start
		$as psql -h 127.0.0.1 -p 5433 -U me -c "create table t(a int); insert into t select generate_series(1, 1000)" postgres
		$as psql -h "$PWD" -p 5433 -U me -c "select count(*), sum(a), now() from t" postgres
		$as pg_ctl -D data -w -m fast stop || $as pg_ctl -D data -w -m immediate stop' sh "$bin"
	tried=$((tried + 1))
fi
strikes shell sh /programs/program.sh
if [ "$tried" = 0 ]; then
	echo "skipped: none of go, python3, sqlite3, redis-server is installed"
	exit 77
fi
finish
