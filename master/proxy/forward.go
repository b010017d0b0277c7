package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/jupyter"
)

const (
	// connectTime is the time limit for a connection to a service.
	connectTime = 15 * time.Second
	// idleTime is how long an unused connection to a service stays open, and idleEach their number per
	// service.
	idleTime = time.Minute
	idleEach = 4
	// headerLimit is the maximum size of a response's header, which is kept in memory.
	headerLimit = 256 << 10
)

// forwarder forwards requests to services.
type forwarder struct {
	cfg   Config
	proxy *httputil.ReverseProxy
}

type serviceKey struct{}

func newForwarder(cfg Config) *forwarder {
	f := &forwarder{cfg: cfg}
	f.proxy = &httputil.ReverseProxy{
		Rewrite: rewrite,
		Transport: &http.Transport{
			DialContext: f.dialHost, IdleConnTimeout: idleTime, MaxIdleConnsPerHost: idleEach, DisableCompression: true,
			ForceAttemptHTTP2: false, MaxResponseHeaderBytes: headerLimit,
		},
		ModifyResponse: func(res *http.Response) error {
			s, _ := res.Request.Context().Value(serviceKey{}).(service)
			cleanResponse(res.Header, s.name.path())
			return nil
		},
		ErrorHandler: f.answerFailure,
		ErrorLog:     slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	return f
}

func (f *forwarder) serve(w http.ResponseWriter, r *http.Request, s service) {
	f.proxy.ServeHTTP(finalOnly{w}, r.WithContext(context.WithValue(r.Context(), serviceKey{}, s)))
}

// rewrite sends a request to its service. The path and the host stay as they are, because services compare
// them with the addresses in their pages.
func rewrite(r *httputil.ProxyRequest) {
	s, _ := r.In.Context().Value(serviceKey{}).(service)
	r.Out.URL.Scheme, r.Out.URL.Host = "http", hostOf(s)
	r.Out.URL.RawQuery = r.In.URL.RawQuery // a service reads parameters by its own rules
	r.Out.Host = r.In.Host
	if s.Key != "" {
		r.Out.Header.Set(jupyter.Header, s.Key)
	}
	r.SetXForwarded()
	if address, _, err := net.SplitHostPort(r.In.RemoteAddr); err == nil {
		r.Out.Header.Set("X-Real-Ip", address)
	}
}

// hostOf returns an address that identifies a service within the transport.
func hostOf(s service) string { return net.JoinHostPort(string(s.Container), strconv.Itoa(s.Port)) }

// dialHost connects to the service that hostOf describes.
func (f *forwarder) dialHost(ctx context.Context, _, address string) (net.Conn, error) {
	container, number, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(number)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	return f.cfg.Streams().Dial(ctx, rm.ContainerID(container), port)
}

// answerFailure responds if a service cannot be reached.
func (f *forwarder) answerFailure(w http.ResponseWriter, r *http.Request, err error) {
	s, _ := r.Context().Value(serviceKey{}).(service)
	status, text := failureOf(s, err)
	f.cfg.Log.Debug("cannot reach a service", "service", s.name.String(), "err", err)
	refuse(w, status, text)
}

// failureOf returns the response for an error of a connection.
func failureOf(s service, err error) (status int, text string) {
	at := "service " + s.name.String()
	unreachable, is := errors.AsType[*rm.UnreachableError](err)
	switch {
	case is:
		return http.StatusBadGateway, at + " cannot be reached: " + unreachable.Reason
	case errors.Is(err, rm.ErrNotRunning):
		return http.StatusNotFound, "service not found: the container of " + at + " is not running"
	case errors.Is(err, rm.ErrTooManyStreams):
		return http.StatusServiceUnavailable, at + " has too many connections; close some of its pages"
	}
	return http.StatusBadGateway, at + " does not answer at port " + strconv.Itoa(s.Port) + " of its container; see the log of the task"
}
