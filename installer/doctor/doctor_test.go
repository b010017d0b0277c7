package doctor_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/doctor"
)

func answer(r doctor.Result) func(context.Context) doctor.Result {
	return func(context.Context) doctor.Result { return r }
}

func TestParseReportsAllErrors(t *testing.T) {
	t.Parallel()
	r := doctor.Run(t.Context(), []doctor.Check{
		{Name: "disk", Look: answer(doctor.Result{Answer: doctor.Pass, Found: "80 GB free"})},
		{Name: "port 8080", Look: answer(doctor.Result{Answer: doctor.Fail, Found: "taken", Needed: "a free port", Fix: "choose another with --port"})},
		{Name: "docker", Look: answer(doctor.Result{Answer: doctor.Unknown, Found: "no answer", Fix: "start it"})},
		{Name: "file", Look: answer(doctor.Result{Answer: doctor.Fail, Found: "not there"})},
	})
	var b strings.Builder
	if err := r.Render(&b); err != nil {
		t.Fatal(err)
	}
	want := `  pass     disk: 80 GB free
  fail     port 8080: taken
           needed: a free port
           try: choose another with --port
  unknown  docker: no answer
           try: start it
  fail     file: not there
`
	if d := cmp.Diff(b.String(), want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	err := r.Err()
	if got, want := err.Error(), "check port 8080: taken (needed: a free port)\ncheck file: not there"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnknownResultIsNotAFailure(t *testing.T) {
	t.Parallel()
	r := doctor.Run(t.Context(), []doctor.Check{{Name: "docker", Look: answer(doctor.Result{Answer: doctor.Unknown})}})
	if err := r.Err(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

// A check that the clients of a cloud repeat for longer than the default limit has its own.
func TestRunWithin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := doctor.Check{Name: "quotas", Look: func(ctx context.Context) doctor.Result {
			select {
			case <-ctx.Done():
				return doctor.FromError(ctx.Err(), "")
			case <-time.After(doctor.Limit + time.Minute):
				return doctor.Passed("sufficient")
			}
		}}
		for limit, want := range map[time.Duration]doctor.Answer{doctor.Limit: doctor.Unknown, 100 * time.Second: doctor.Pass} {
			if got := doctor.RunWithin(t.Context(), limit, []doctor.Check{slow}).Results[0].Answer; got != want {
				t.Errorf("within %s: got %s, want %s", limit, got, want)
			}
		}
	})
}

// The error of an operation whose checks foresee a refusal has the kind of that refusal.
func TestErrorHasKindOfForeseenRefusal(t *testing.T) {
	t.Parallel()
	port := doctor.Check{Name: "port", Look: answer(doctor.Failed("taken", "", ""))}
	quota := doctor.Check{Name: "quotas", Look: answer(doctor.Failed("none left", "", "").As(cloud.Quota))}
	if got := cloud.KindOf(doctor.Run(t.Context(), []doctor.Check{port, quota}).Err()); got != cloud.Quota {
		t.Errorf("got %q, want %q", got, cloud.Quota)
	}
	if got := cloud.KindOf(doctor.Run(t.Context(), []doctor.Check{port}).Err()); got != cloud.Unknown {
		t.Errorf("got %q, want %q", got, cloud.Unknown)
	}
}
