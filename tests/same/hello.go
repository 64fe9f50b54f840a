// SPDX-License-Identifier: BSD-3-Clause
package main

import (
	"fmt"
	"math/rand"
	"os"
	"sync"
	"time"
)

func main() {
	rand.Seed(time.Now().UnixNano())
	fmt.Println("hello", os.Getpid(), time.Now(), rand.Int())
	var group sync.WaitGroup
	words := make(chan string, 3)
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			time.Sleep(time.Duration(rand.Intn(50)) * time.Millisecond)
			words <- fmt.Sprint("goroutine ", n)
		}(i)
	}
	go func() { group.Wait(); close(words) }()
	for word := range words {
		fmt.Println(word)
	}
	for key := range map[string]int{"a": 1, "b": 2, "c": 3, "d": 4} {
		fmt.Print(key, " ")
	}
	select {
	case <-time.After(2 * time.Second):
		fmt.Println("timer", time.Now())
	}
}
