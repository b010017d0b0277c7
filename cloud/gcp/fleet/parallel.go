package fleet

import "sync"

// atOnce is how many calls are made at the same time: Google counts them by the minute.
const atOnce = 16

// eachOf does something for 0 to n-1, many at the same time, and returns when all is done.
func eachOf(n int, do func(int)) {
	var wg sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	for i := range n {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			do(i)
		})
	}
	wg.Wait()
}
