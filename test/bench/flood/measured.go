package main

import (
	"context"
	"errors"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/master"
)

// measured is a master under load whose memory is sampled.
type measured struct{ *master.Master }

func start(ctx context.Context, bin string) (*measured, error) {
	m, err := master.Start(ctx, bin, "")
	return &measured{m}, err
}

// atRest returns the memory once that of the first login is released.
func (m *measured) atRest(ctx context.Context) (least int64, err error) {
	for range 15 {
		n, err := m.Memory()
		if err != nil {
			return 0, err
		}
		if least == 0 || n < least {
			least = n
		}
		master.Pause(ctx, time.Second)
	}
	return least, nil
}

// during floods the master for a while and returns the peak of the sampled memory.
func (m *measured) during(ctx context.Context, lasting time.Duration, f flood) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- f.do(ctx, m) }()
	var most int64
	for {
		n, err := m.Memory()
		most = max(most, n)
		if err != nil {
			cancel()
			return 0, errors.Join(err, <-ended)
		}
		select {
		case err := <-ended:
			return most, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// settled waits until at most enough is left, or until limit.
func (m *measured) settled(ctx context.Context, enough int64, limit time.Duration) (left int64, took time.Duration, err error) {
	for began := time.Now(); ; master.Pause(ctx, time.Second) {
		left, err = m.Memory()
		if took = time.Since(began); err != nil || left <= enough || took >= limit || ctx.Err() != nil {
			return left, took, err
		}
	}
}
