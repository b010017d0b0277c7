// Package socket serves the machine protocol to the agent, on a Unix socket that only root can
// open.
package socket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/cloud/machine"
)

// Notices is a source of notices.
type Notices interface {
	// Next waits until ctx is done for the first notice with a number greater than after.
	Next(ctx context.Context, after int64) (n machine.Notice, found bool)
}

// Server implements the machine protocol.
type Server struct {
	// Prove returns a proof for one cluster.
	Prove   func(ctx context.Context, cluster string) (machine.Proof, error)
	Notices Notices
	Log     *slog.Logger
}

// Listen creates the socket. It replaces a socket that a previous process left behind.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	// The directory's permissions are restricted first, so that the socket is never accessible to
	// other users.
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	var c net.ListenConfig
	l, err := c.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Serve serves requests until ctx is done.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:     s.newHandler(),
		BaseContext: func(net.Listener) context.Context { return ctx },
		// A request of an agent has no large headers.
		ReadHeaderTimeout: 10 * time.Second,
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		// All requests use ctx and end with it.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := srv.Shutdown(last); err != nil {
			s.Log.Debug("agent requests were still pending", "err", err)
		}
	})
	err := srv.Serve(l)
	if !stop() {
		<-done
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve agents on %s: %w", l.Addr(), err)
}

func (s *Server) newHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+machine.ProofPath, s.serveProof)
	mux.HandleFunc("GET "+machine.NoticePath, s.serveNotice)
	return mux
}

func (s *Server) serveProof(w http.ResponseWriter, r *http.Request) {
	audience := r.URL.Query().Get("audience")
	if audience == "" {
		s.writeRefusal(w, http.StatusBadRequest, errors.New("audience: must be set"))
		return
	}
	p, err := s.Prove(r.Context(), audience)
	if err != nil {
		s.writeRefusal(w, http.StatusServiceUnavailable, err)
		return
	}
	s.writeJSON(w, http.StatusOK, p)
}

func (s *Server) serveNotice(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		s.writeRefusal(w, http.StatusBadRequest, errors.New("after: must be a number"))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), machine.Wait)
	defer cancel()
	n, found := s.Notices.Next(ctx, after)
	if !found {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.writeJSON(w, http.StatusOK, n)
}

func (s *Server) writeRefusal(w http.ResponseWriter, status int, err error) {
	s.writeJSON(w, status, machine.Refusal{Error: err.Error()})
}

func (s *Server) writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.Log.Debug("agent disconnected before the response", "err", err)
	}
}
