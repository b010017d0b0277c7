package local_test

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
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
	"github.com/det-deploy/det-deploy/master/config"
)

// The test binary is also the program that it starts: a fake master, an agent that joins by
// creating a file, and the real supervisor.
const asProgram = "LOCAL_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM) //nolint:forbidigo // a program of its own
	err := program(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
	os.Exit(0) //nolint:forbidigo // a program of its own
}

func program(ctx context.Context, args []string) error {
	switch strings.Join(args[:2], " ") {
	case "local supervise":
		return supervise.Run(ctx, supervise.Config{
			Dir: supervise.Dir(args[3]), Program: os.Args[0],
			Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
	case "master run":
		return master(ctx, args[3], len(args) > 4 && args[4] == "--on-hold")
	case "master backup":
		return os.WriteFile(args[5], []byte("by "+os.Args[0]), 0o600)
	case "version --output":
		_, err := fmt.Println(`{"version": "v7"}`) //nolint:forbidigo // a program of its own
		return err
	case "master join-token":
		_, err := fmt.Println("token") //nolint:forbidigo // a program of its own
		return err
	case "agent sweep":
		return os.WriteFile(filepath.Join(filepath.Dir(args[3]), "swept"), nil, 0o600)
	case "agent run":
		joined := filepath.Join(filepath.Dir(args[3]), "joined")
		if err := os.WriteFile(joined, nil, 0o600); err != nil {
			return err
		}
		<-ctx.Done()
		return os.Remove(joined)
	}
	return fmt.Errorf("unknown command %q", args)
}

func master(ctx context.Context, path string, hold bool) error {
	c, _, err := config.Load([]string{path}, nil)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) {
		complaint, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "unable"))
		_ = json.NewEncoder(w).Encode(map[string]any{ // the client retries
			"cluster_name": c.ClusterName, "on_hold": hold, "program": os.Args[0],
			"rehearsal": map[string]any{"done": hold, "error": string(complaint)},
		})
	})
	mux.HandleFunc("POST /api/v1/auth/login", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Password string }
		ref, _ := c.Security.InitialUserPassword.Ref()
		want, err := os.ReadFile(ref.Name)
		if json.NewDecoder(r.Body).Decode(&in) != nil || err != nil || in.Password != strings.TrimSpace(string(want)) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"token": "t"}) // the client retries
	})
	mux.HandleFunc("GET /api/v1/agents", func(w http.ResponseWriter, _ *http.Request) {
		joined, _ := fs.Glob(os.DirFS(filepath.Dir(path)), "agents/*/joined") // the pattern is valid
		var agents []map[string]string
		for _, j := range joined {
			agents = append(agents, map[string]string{"id": c.ClusterName + "-" + filepath.Base(filepath.Dir(j))})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"agents": agents}) // the client retries
	})
	s := &http.Server{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port)), Handler: mux, ReadHeaderTimeout: time.Second}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // ends with the process
	defer stop()
	if tls := c.Security.TLS; tls.Enabled() {
		err = s.ListenAndServeTLS(tls.Cert, tls.Key)
	} else {
		err = s.ListenAndServe()
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
