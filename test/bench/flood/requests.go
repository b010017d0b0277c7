package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/bench/master"
)

// many runs do in n goroutines repeatedly until ctx ends. Requests that the master rejects are no
// errors: it protects itself.
func many(ctx context.Context, n int, do func(ctx context.Context)) error {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				do(ctx)
				master.Pause(ctx, time.Millisecond)
			}
		})
	}
	all.Wait()
	return nil
}

// call sends one request and discards the response. It reports whether the request was accepted.
func call(ctx context.Context, m *measured, method, path string, body []byte) bool {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+m.Addr+path, bytes.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Authorization", "Bearer "+m.Token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, res.Body) // only the status matters
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// useful floods the master like many. It returns an error if no call was accepted, because then
// nothing was measured.
func useful(ctx context.Context, n int, do func(ctx context.Context) bool) error {
	var taken atomic.Int64
	err := many(ctx, n, func(ctx context.Context) {
		if do(ctx) {
			taken.Add(1)
		}
	})
	if err == nil && taken.Load() == 0 {
		err = errors.New("the master took none")
	}
	return err
}

func longLogins(ctx context.Context, m *measured) error {
	return many(ctx, 40, func(ctx context.Context) {
		name := rand.Text() + strings.Repeat("x", 1<<20-200)
		call(ctx, m, http.MethodPost, "/api/v1/auth/login", fmt.Appendf(nil, `{"username":%q,"password":"x"}`, name))
	})
}

func wrongPasswords(ctx context.Context, m *measured) error {
	return many(ctx, 64, func(ctx context.Context) {
		call(ctx, m, http.MethodPost, "/api/v1/auth/login", fmt.Appendf(nil, `{"username":%q,"password":"x"}`, rand.Text()))
	})
}

func longPaths(ctx context.Context, m *measured) error {
	text := strings.Repeat("%00", 20_000)
	return many(ctx, 64, func(ctx context.Context) {
		call(ctx, m, http.MethodGet, "/api/v1/tasks/"+text, nil)
		call(ctx, m, http.MethodGet, "/api/v1/agents?offset="+text, nil)
	})
}

// contextSize is the number of bytes before base64.
const contextSize = 100_000_000

func contextBody() []byte {
	content := make([]byte, contextSize)
	_, _ = rand.Read(content) // incompressible; it does not fail
	b := []byte(`{"config":{"entrypoint":["true"],"resources":{"slots":0}},"files":[{"path":"a","type":48,"mode":420,"content":"`)
	b = base64.StdEncoding.AppendEncode(b, content)
	return append(b, `"}]}`...)
}

func contexts(ctx context.Context, m *measured) error {
	body := contextBody()
	return useful(ctx, 6, func(ctx context.Context) bool { // running ones may finish
		return call(context.WithoutCancel(ctx), m, http.MethodPost, "/api/v1/commands", body)
	})
}

func contextReads(ctx context.Context, m *measured) error {
	list, err := m.API.Tasks(ctx)
	if err != nil {
		return err
	}
	for _, t := range list {
		return useful(ctx, 6, func(ctx context.Context) bool {
			return call(ctx, m, http.MethodGet, "/api/v1/tasks/"+t.GetTaskId()+"/context_directory", nil)
		})
	}
	return fmt.Errorf("no context was taken before")
}

// task creates a task that stays queued forever.
func task(ctx context.Context, m *measured) (string, error) {
	config, err := structpb.NewStruct(map[string]any{"entrypoint": []any{"true"}, "resources": map[string]any{"slots": 0}})
	if err != nil {
		return "", err
	}
	r, err := m.API.Launch(ctx, &apiv1.LaunchCommandRequest{Config: config})
	return r.GetCommand().GetId(), err
}

// ship sends requests with the given number of log lines, each of size bytes.
func ship(lines, size int) func(ctx context.Context, m *measured) error {
	return func(ctx context.Context, m *measured) error {
		id, err := task(ctx, m)
		if err != nil {
			return err
		}
		line := fmt.Sprintf(`{"task_id":%q,"timestamp":"2026-01-01T00:00:00Z","log":%q}`, id, rand.Text()+strings.Repeat("log ", size/4))
		body := []byte(`{"logs":[` + strings.Repeat(line+",", lines-1) + line + `]}`)
		return useful(ctx, 8, func(ctx context.Context) bool { return call(ctx, m, http.MethodPost, "/api/v1/task/logs", body) })
	}
}

func manyValues(ctx context.Context, m *measured) error {
	body := []byte(`{"config":{"entrypoint":["true"],"resources":{"slots":0},"data":{"a":[1` + strings.Repeat(",1", 100_000) + `]}}}`)
	return many(ctx, 64, func(ctx context.Context) { call(ctx, m, http.MethodPost, "/api/v1/commands", body) })
}
