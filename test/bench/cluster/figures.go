package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// readers is the number of clients that keeps two cores busy on both sides of the loopback.
const readers = 16

// reads returns the number of authenticated reads per second.
func (c *cluster) reads(ctx context.Context, path string, d time.Duration) (float64, error) {
	var n atomic.Int64
	start := time.Now()
	var g errgroup.Group
	for range readers {
		g.Go(func() error {
			for time.Since(start) < d {
				if _, err := c.call(ctx, "GET", path, nil); err != nil {
					return err
				}
				n.Add(1)
			}
			return nil
		})
	}
	err := g.Wait()
	return float64(n.Load()) / time.Since(start).Seconds(), err
}

func (c *cluster) launch(ctx context.Context, script string) (string, error) {
	b, err := c.call(ctx, "POST", "/api/v1/commands", map[string]any{"config": map[string]any{
		"entrypoint": []string{script}, "resources": map[string]any{"slots": 0},
	}})
	if err != nil {
		return "", err
	}
	var reply struct{ Command struct{ ID string } }
	err = json.Unmarshal(b, &reply)
	return reply.Command.ID, err
}

// shortTasks runs n tasks that exit immediately. It returns the time until the last was accepted
// and the time until the last had ended.
func (c *cluster) shortTasks(ctx context.Context, n int) (accepted, ended time.Duration, err error) {
	start := time.Now()
	ids := make([]string, n)
	g, launching := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i := range ids {
		g.Go(func() (err error) {
			ids[i], err = c.launch(launching, "true")
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, 0, err
	}
	accepted = time.Since(start)
	if err := c.awaitNoJobs(ctx); err != nil {
		return 0, 0, err
	}
	ended = time.Since(start)
	return accepted, ended, c.checkEnded(ctx, ids)
}

// followLatency prints 200 lines, 20 ms apart, each with the time of its printing, and returns
// percentiles of the delay until a follower receives them.
func (c *cluster) followLatency(ctx context.Context) (p50, p99 time.Duration, err error) {
	id, err := c.launch(ctx, `i=0; while [ $i -lt 200 ]; do echo at $(date +%s%N); sleep 0.02; i=$((i+1)); done`)
	if err != nil {
		return 0, 0, err
	}
	resp, err := c.request(ctx, "GET", "/api/v1/tasks/"+id+"/logs?follow=true", nil)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	var all []time.Duration
	for scan := bufio.NewScanner(resp.Body); scan.Scan(); {
		now := time.Now()
		var line struct{ Result struct{ Log string } }
		if json.Unmarshal(scan.Bytes(), &line) != nil {
			continue
		}
		if at, found := strings.CutPrefix(strings.TrimSpace(line.Result.Log), "at "); found {
			ns, _ := strconv.ParseInt(at, 10, 64)
			all = append(all, now.Sub(time.Unix(0, ns)))
		}
	}
	if len(all) == 0 {
		return 0, 0, fmt.Errorf("no lines of task %s arrived", id)
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*99/100], nil
}
