// SPDX-License-Identifier: BSD-3-Clause
// A hundred goroutines, tickers, a race: who comes when.
package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

func main() {
	start := time.Now()
	var group sync.WaitGroup
	var mutex sync.Mutex
	racy := 0
	order := []int{}
	results := make(chan string, 8)
	for n := 0; n < 100; n++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			for i := 0; i < 50; i++ {
				value := racy
				if i%10 == 0 {
					runtime.Gosched()
				}
				racy = value + 1
			}
			mutex.Lock()
			order = append(order, n)
			mutex.Unlock()
			if n%10 == 0 {
				ticker := time.NewTicker(time.Duration(n+1) * time.Millisecond)
				for i := 0; i < 4; i++ {
					at := <-ticker.C
					results <- fmt.Sprint("tick ", n, " ", at.Sub(start))
				}
				ticker.Stop()
			}
		}(n)
	}
	go func() { group.Wait(); close(results) }()
	for line := range results {
		fmt.Println(line)
	}
	sum := 0
	for spin := time.Now(); time.Since(spin) < 20*time.Millisecond; {
		sum++
	}
	words := map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}
	for word := range words {
		fmt.Print(word, " ")
	}
	secret := make([]byte, 8)
	rand.Read(secret)
	fmt.Println(racy, order, sum > 0, os.Getpid(), runtime.NumCPU(), secret, time.Now())
	select {
	case <-time.After(50 * time.Millisecond):
		fmt.Println("after", time.Since(start))
	}
}
