// What Go's runtime does at once: goroutines on several threads, channels, a
// heap that is collected, timers, one that never yields, and a child.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func sums(n int) int {
	var group sync.WaitGroup
	results := make(chan int, n)
	for i := 0; i < n; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			results <- i * i
		}(i)
	}
	group.Wait()
	close(results)
	sum := 0
	for r := range results {
		sum += r
	}
	return sum
}

func garbage(n int) int {
	kept := map[int][]byte{}
	for i := 0; i < n; i++ {
		kept[i%100] = make([]byte, 10000)
	}
	runtime.GC()
	return len(kept)
}

func main() {
	fmt.Println("sum", sums(1000))
	fmt.Println("kept", garbage(5000))
	var stop int32
	go func() {
		for atomic.LoadInt32(&stop) == 0 {
		}
	}()
	select {
	case <-time.After(time.Millisecond):
		fmt.Println("a timer")
	}
	runtime.GC() // which stops the one that never yields
	atomic.StoreInt32(&stop, 1)
	out, err := exec.Command("/bin/sh", "-c", "echo child").Output()
	fmt.Printf("%s%v\n", out, err)
	_, err = exec.Command("/bin/none").Output()
	fmt.Println(err)
	os.Exit(3)
}
