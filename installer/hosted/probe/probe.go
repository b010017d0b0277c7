// Package probe connects to a cluster's master from the installer's computer, verifies the name of
// the cluster, and runs a test task.
package probe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Endpoint is the address of a cluster's master and the certificates to trust.
type Endpoint struct {
	URL string
	// CA is the PEM certificates of the CA that signs the master's.
	CA []byte
	// Name is the name in the certificate if it differs from URL's host.
	Name string
}

// lookEvery is the polling interval for the task's state.
const lookEvery = 5 * time.Second

// Master makes the calls to a cluster's master.
type Master interface {
	// Cluster returns the cluster name that the master reports.
	Cluster(ctx context.Context) (string, error)
	// Login returns false if the master rejects the password.
	Login(ctx context.Context, user, password string) (bool, error)
	// Try runs a small task to its end as the logged-in user.
	Try(ctx context.Context, t Trial) error
	Close()
}

// Trial is the configuration of the test task.
type Trial struct {
	// Noun is the subcommand of the cluster's cloud.
	Noun  string
	Pool  string
	Limit time.Duration
	Pause func(context.Context, time.Duration) error
	Tell  func(string)
}

// Dial returns a client for the master at e. It does not connect yet.
func Dial(e Endpoint) (Master, error) {
	r := &remote{cfg: client.Config{URL: e.URL, CA: e.CA, ServerName: e.Name}}
	return r, r.openClient()
}

// remote implements Master over HTTP.
type remote struct {
	cfg client.Config
	c   *client.Client
}

func (r *remote) openClient() error {
	c, err := client.New(r.cfg)
	if err != nil {
		return err
	}
	r.Close()
	r.c = c
	return nil
}

// Close closes idle connections.
func (r *remote) Close() {
	if r.c != nil {
		r.c.Close()
	}
}

// Cluster implements Master.
func (r *remote) Cluster(ctx context.Context) (string, error) {
	m, err := r.c.Master(ctx)
	if err != nil {
		return "", err
	}
	return m.GetClusterName(), nil
}

// Login implements Master.
func (r *remote) Login(ctx context.Context, user, password string) (bool, error) {
	l, err := r.c.Login(ctx, user, password)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Denied() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.cfg.Token = l.GetToken()
	return true, r.openClient()
}

// Try implements Master. It kills the task if the task does not end by itself.
func (r *remote) Try(ctx context.Context, t Trial) error {
	config, err := structpb.NewStruct(map[string]any{
		"description": "det-deploy: test task",
		"entrypoint":  []any{"/bin/sh", "-c", "true"},
		"resources":   map[string]any{"slots": 0, "resource_pool": t.Pool},
	})
	if err != nil {
		return fmt.Errorf("encode the test task: %w", err)
	}
	launched, err := r.c.Launch(ctx, &apiv1.LaunchCommandRequest{Config: config, RequestId: rand.Text()})
	if err != nil {
		return err
	}
	id, last := launched.GetCommand().GetId(), ""
	for waited := time.Duration(0); ; waited += lookEvery {
		c, err := r.c.Command(ctx, id)
		if err != nil {
			return err
		}
		command := c.GetCommand()
		if command.GetState() == apiv1.Task_STATE_TERMINATED {
			return trialResult(t.Noun, command)
		}
		why := command.GetReason()
		if waited >= t.Limit {
			return errors.Join(&trialError{noun: t.Noun, id: id, limit: t.Limit, why: why}, r.kill(ctx, id))
		}
		if why != last && why != "" {
			t.Tell("the task is queued: " + why)
			last = why
		}
		if err := t.Pause(ctx, lookEvery); err != nil {
			return errors.Join(err, r.kill(context.WithoutCancel(ctx), id))
		}
	}
}

// kill kills the task of a trial.
func (r *remote) kill(ctx context.Context, id string) error {
	return r.c.Kill(ctx, apiv1.TaskType_TASK_TYPE_COMMAND, id)
}

func trialResult(noun string, c *apiv1.Command) error {
	if c.ExitCode != nil && c.GetExitCode() == 0 {
		return nil
	}
	return &trialError{noun: noun, id: c.GetId(), why: c.GetExitStatus()}
}

// trialError reports that the test task did not complete although the master answers.
type trialError struct {
	noun  string
	id    string
	limit time.Duration
	why   string
}

func (e *trialError) Error() string {
	if e.limit > 0 {
		return fmt.Sprintf("the test task %s did not run within %s: %s", e.id, e.limit, e.why)
	}
	return fmt.Sprintf("the test task %s failed: %s", e.id, e.why)
}

// Hint names the commands that show the cause.
func (e *trialError) Hint() string {
	return "the master answers; find the cause with `det-deploy task logs " + e.id + "` and `det-deploy " + e.noun + " logs`, or run up with --no-verify"
}
