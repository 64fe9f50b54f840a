// SPDX-License-Identifier: BSD-3-Clause
// Interfaces and their addresses from two goroutines, each with netlink sockets of its own.
package main

import (
	"fmt"
	"net"
	"sync"
)

func list() (text string) {
	for i := 0; i < 10; i++ {
		text = ""
		interfaces, err := net.Interfaces()
		if err != nil {
			return err.Error()
		}
		for _, one := range interfaces {
			addresses, _ := one.Addrs()
			text += fmt.Sprintln(one.Index, one.Name, one.HardwareAddr, one.Flags, one.MTU, addresses)
		}
	}
	return
}

func main() {
	var both sync.WaitGroup
	var texts [2]string
	for i := range texts {
		both.Add(1)
		go func(i int) { texts[i] = list(); both.Done() }(i)
	}
	both.Wait()
	fmt.Print(texts[0], texts[1], texts[0] == texts[1], "\n")
}
