package main

import (
	"context"
	"errors"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
	"github.com/det-deploy/det-deploy/test/bench/master"
)

// firstMinute is how long a master is measured from its start with an empty store.
const firstMinute = time.Minute

// loginEvery is how often a user logs in during the first minute.
const loginEvery = 10 * time.Second

// measureRest measures a master from its start, while the first users log in.
func measureRest(ctx context.Context, o options, say sayer) (err error) {
	m, err := master.Start(ctx, o.bin, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Stop()) }()
	var starting, most, last master.Pages
	var login time.Time
	seen, above := 0, 0
	for began := time.Now(); time.Since(began) < firstMinute && ctx.Err() == nil; master.Pause(ctx, 20*time.Millisecond) {
		if time.Since(login) > loginEvery {
			login = time.Now()
			go logIn(ctx, m)
		}
		if last, err = m.Pages(); err != nil {
			return err
		}
		if time.Since(began) < start {
			starting = starting.Most(last)
			continue
		}
		most = most.Most(last)
		seen++
		if last.Made > promisedMade {
			above++
		}
	}
	show := func(what string, p master.Pages) {
		say(what, "made %d MB (promise 20), proportional %d MB (promise 45), private %d MB with pages of the program, resident %d MB",
			p.Made>>20, p.Proportional>>20, p.Private>>20, p.Resident>>20)
	}
	show("master that starts on an empty store: most", starting)
	show("master in its first minute, a login every 10 s: most", most)
	say("the same, above 20 MB made", "%.1f %% of the time", 100*float64(above)/float64(max(seen, 1)))
	show("master after its first minute", last)
	return nil
}

// start is the period after the start of the process whose peak is reported separately.
const start = 2 * time.Second

// promisedMade limits the memory that the master allocates itself, in bytes. Private memory also
// contains pages of the program that no other process has mapped; these belong to the kernel's page
// cache.
const promisedMade = 20 << 20

// logIn logs in once and ignores errors, because a failed login costs memory as well.
func logIn(ctx context.Context, m *master.Master) {
	if api, err := client.New(client.Config{URL: m.URL()}); err == nil {
		_, _ = api.Login(ctx, "admin", master.Password)
	}
}
