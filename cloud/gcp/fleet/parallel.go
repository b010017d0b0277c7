package fleet

import "sync"

// maxConcurrentCalls is the maximum number of concurrent calls. Google's rate limits are per minute.
const maxConcurrentCalls = 16

// eachOf calls do for 0 to n-1 concurrently and waits for all.
func eachOf(n int, do func(int)) {
	var wg sync.WaitGroup
	turn := make(chan struct{}, maxConcurrentCalls)
	for i := range n {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			do(i)
		})
	}
	wg.Wait()
}
