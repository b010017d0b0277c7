package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// caller is a client that counts its requests.
type caller struct {
	kubernetes.Interface

	logs silentLogs

	mu sync.Mutex // guards calls
	// calls counts requests by verb and resource.
	calls map[string]float64
}

func newCaller(file string) (*caller, error) {
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	c := &caller{calls: make(map[string]float64)}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { c.logs.next = counted{next, c}; return &c.logs })
	c.Interface, err = kubernetes.NewForConfig(config)
	return c, err
}

// ownCalls returns the number of requests so far, by verb and resource.
func (c *caller) ownCalls() map[string]float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.calls)
}

// counted counts requests.
type counted struct {
	next http.RoundTripper
	c    *caller
}

// RoundTrip counts every request except those of the measurement itself. The two log requests of
// each pod do not reach the API server here and are not counted.
func (c counted) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.URL.Path != "/metrics" && q.URL.Query().Get("limit") != "1" {
		c.c.mu.Lock()
		c.c.calls[q.Method+" "+resourceIn(q.URL.Path)]++
		c.c.mu.Unlock()
	}
	return c.next.RoundTrip(q)
}

// resourceIn returns the resource of a path: pods/log for /api/v1/namespaces/tasks/pods/one/log.
func resourceIn(path string) string {
	_, rest, found := strings.Cut(path, "/namespaces/")
	parts := strings.Split(rest, "/")
	switch {
	case !found || len(parts) < 2:
		return path[strings.LastIndex(path, "/")+1:]
	case len(parts) > 3:
		return parts[1] + "/" + parts[3]
	}
	return parts[1]
}

// readServer returns the number of requests that the API server answered and its processor time.
func (c *caller) readServer(ctx context.Context) (map[string]float64, time.Duration, error) {
	data, err := c.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("read the API server's metrics: %w", err)
	}
	calls, took := parseMetrics(data)
	return calls, took, nil
}

// awaitQuiet waits until the API server is nearly idle: otherwise the remaining work of the cluster
// for the last turn would count toward the next.
func (c *caller) awaitQuiet(ctx context.Context) error {
	const few, pause = 3.0, time.Second
	for before := -1.0; ; {
		calls, _, err := c.readServer(ctx)
		if err != nil {
			return err
		}
		now := 0.0
		for _, n := range calls {
			now += n
		}
		if before >= 0 && now-before <= few {
			return nil
		}
		before = now
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
	}
}

// parseMetrics returns the requests by verb and resource, and the processor time.
func parseMetrics(data []byte) (map[string]float64, time.Duration) {
	calls, took := make(map[string]float64), time.Duration(0)
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		switch {
		case name == "process_cpu_seconds_total":
			took = time.Duration(n * float64(time.Second))
		case strings.HasPrefix(name, "apiserver_request_total{"):
			what := labelOf(name, "resource")
			if sub := labelOf(name, "subresource"); sub != "" {
				what += "/" + sub
			}
			// The measurement itself lists objects to find out that none is left.
			if verb := labelOf(name, "verb"); what != "" && what != "leases" && verb != "LIST" {
				calls[verb+" "+what] += n
			}
		}
	}
	return calls, took
}

func labelOf(series, label string) string {
	_, rest, _ := strings.Cut(series, label+`="`)
	// The label must begin here: subresource="..." ends like resource="...".
	if i := strings.Index(series, label+`="`); i > 0 && series[i-1] != ',' && series[i-1] != '{' {
		_, rest, _ = strings.Cut(rest, label+`="`)
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func subtractCounts[N float64 | time.Duration](after, before map[string]N) map[string]N {
	out := make(map[string]N)
	for key, n := range after {
		if n -= before[key]; n > 0 {
			out[key] = n
		}
	}
	return out
}

// printCalls prints the requests for each pod, if there is at least one for twenty pods: those that
// the API server answered, and those that this process sent.
func printCalls(out io.Writer, plain, ours *cost) {
	fmt.Fprintln(out, "  at the API server, a pod:")
	printKinds(out, plain, ours, func(c *cost) map[string]float64 { return c.calls })
	fmt.Fprintln(out, "  of them until all run:")
	printKinds(out, plain, ours, func(c *cost) map[string]float64 { return c.runCalls })
	fmt.Fprintln(out, "  from this process, a pod:")
	printKinds(out, plain, ours, func(c *cost) map[string]float64 { return c.ours })
}

func printKinds(out io.Writer, plain, ours *cost, of func(*cost) map[string]float64) {
	all := maps.Clone(of(ours))
	for key := range of(plain) {
		all[key] += 0
	}
	for _, key := range slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(of(ours)[b], of(ours)[a]), cmp.Compare(a, b))
	}) {
		a, b := of(plain)[key]/float64(plain.pods), of(ours)[key]/float64(ours.pods)
		if max(a, b) >= 0.05 {
			fmt.Fprintf(out, "    %-40s plain %8.2f     gangs %8.2f\n", key, a, b)
		}
	}
}
