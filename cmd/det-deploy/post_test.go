package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
)

// post sends a request to the master of the current context, as its user, for which the program has no command:
//
//	post PATH BODY
func post(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: post PATH BODY")
	}
	f, err := contexts.Default(ts.Getenv)
	ts.Check(err)
	book, err := f.Load()
	ts.Check(err)
	c, _ := book.Get(book.Current)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) //nolint:forbidigo // scripts have no context
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Master+args[0], strings.NewReader(args[1]))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+string(c.Token))
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if resp.StatusCode != http.StatusOK {
		ts.Fatalf("POST %s: status %d: %s", args[0], resp.StatusCode, body)
	}
}
