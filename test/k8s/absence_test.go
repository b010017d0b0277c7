package k8s_test

import (
	"net/http"
	"regexp"
	"strings"
	"time"
)

// masterAddress matches the address of the master in the output of `k8s install`.
var masterAddress = regexp.MustCompile(`DET_MASTER=(http://\S+)`)

// timesAbsence polls the readiness of an installed master until the returned function is called,
// which returns the longest time without a positive answer.
func (p *person) timesAbsence(installed string) func() time.Duration {
	p.t.Helper()
	found := masterAddress.FindStringSubmatch(installed)
	if found == nil {
		p.t.Fatalf("no address of the master in %q", installed)
	}
	url := strings.TrimRight(found[1], "/") + "/health/ready"
	stop, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		client := &http.Client{Timeout: time.Second}
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		var most time.Duration
		over := false
		for last := time.Now(); ; <-tick.C {
			answer, err := client.Get(url)
			if err == nil {
				_ = answer.Body.Close()
			}
			if err == nil && answer.StatusCode == http.StatusOK {
				most, last = max(most, time.Since(last)), time.Now()
			}
			select {
			case <-stop:
				over = true
			default:
			}
			// The last absence also ends with an answer.
			if over && (time.Since(last) < time.Second || time.Since(last) > time.Minute) {
				longest <- max(most, time.Since(last))
				return
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return (<-longest).Round(100 * time.Millisecond)
	}
}
