package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// AWSAdvice is what AWS knows that helps to say what a cluster should be.
type AWSAdvice struct{ facts facts.Facts }

// AdviseAWS asks AWS, in a region or, where that is empty, in the first one.
func AdviseAWS(ctx context.Context, region, profile string) (AWSAdvice, error) {
	if region == "" {
		region = homeRegion
	}
	c, err := api.Open(ctx, api.Options{Region: region, Profile: profile})
	return AWSAdvice{facts.Facts{Clients: c}}, err
}

// KeyPairs lists the region's key pairs.
func (a AWSAdvice) KeyPairs(ctx context.Context) ([]string, error) { return a.facts.KeyPairs(ctx) }

// GPUTypes lists the region's instance types with GPUs, the smallest first. For
// agents of the stock image it leaves out what that has no driver for.
func (a AWSAdvice) GPUTypes(ctx context.Context, stock bool) ([]term.Choice, error) {
	types, err := a.facts.GPUTypes(ctx)
	out := make([]term.Choice, 0, len(types))
	for _, t := range types {
		if fit, _ := facts.AgentStock().Fit(t); stock && fit == facts.FitsNot {
			continue
		}
		_, about, _ := strings.Cut(t.String(), " ")
		out = append(out, term.Choice{Value: t.Name, About: strings.Trim(about, "()")})
	}
	return out, err
}

// Offered refuses an instance type that the region does not have, and for agents
// of the stock image one that has no driver there.
func (a AWSAdvice) Offered(ctx context.Context, name string, stock bool) error {
	types, err := a.facts.Types(ctx, name)
	if err != nil {
		return err
	}
	t, found := types[name]
	if !found {
		return fmt.Errorf("there is no instance type %s in %s", name, a.facts.Clients.Region)
	}
	if fit, why := facts.AgentStock().Fit(t); stock && fit == facts.FitsNot {
		return errors.New(why)
	}
	return nil
}

// Room refuses more machines of a type than the account's quota leaves. What the
// quota is may not be known; then nothing is refused.
func (a AWSAdvice) Room(ctx context.Context, name string, n int) error {
	types, err := a.facts.Types(ctx, name)
	q, limited := facts.VCPUQuota(name, false)
	if err != nil || types[name].VCPU == 0 || !limited {
		return nil //nolint:nilerr // the checks tell what could not be asked
	}
	limit, err := a.facts.Limit(ctx, q)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if need := types[name].VCPU * n; need > limit {
		return fmt.Errorf("%d of %s have %d vCPUs, and the account's quota of %s is %d; ask for more at %s",
			n, name, need, q.What, limit, q.Console(a.facts.Clients.Region))
	}
	return nil
}

// KnowsAWS reports whether a cluster of that id has a record, or else had one that
// is lost.
func KnowsAWS(ctx context.Context, s *term.Streams, q AWSRequest) (known, lost bool, err error) {
	if q.Region, err = RegionOf(ctx, q); err != nil {
		return false, false, err
	}
	q.Given, q.Bring = nil, false
	a, err := NewAWS(ctx, s, q)
	if err != nil {
		return false, false, err
	}
	lost, err = a.Lost(ctx)
	return a.Known, lost, err
}

const (
	// addressURL answers with the caller's address; it is Amazon's own.
	addressURL = "https://checkip.amazonaws.com"
	// addressLimit is how long it may take: who is behind a proxy says their range.
	addressLimit = 3 * time.Second
)

// OwnAddress asks how this machine is seen from outside, as a range of one.
func OwnAddress(ctx context.Context, s *term.Streams) (string, error) {
	if s.Getenv("AWS_ENDPOINT_URL") != "" {
		return "", errors.New("AWS is not Amazon's here, which has no say in how this machine is seen")
	}
	ctx, cancel := context.WithTimeout(ctx, addressLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, addressURL, nil)
	if err != nil {
		return "", err
	}
	resp, err := overIPv4().Do(req)
	if err != nil {
		return "", fmt.Errorf("ask for this machine's address: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read as far as it counts
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64))
	if err != nil {
		return "", fmt.Errorf("ask for this machine's address: %w", err)
	}
	ip, err := netip.ParseAddr(strings.TrimSpace(string(text)))
	if err != nil {
		return "", fmt.Errorf("ask for this machine's address: %w", err)
	}
	return netip.PrefixFrom(ip, ip.BitLen()).String(), nil
}

// overIPv4 is a client that is seen under an IPv4 address: the master has no other.
func overIPv4() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp4", address)
		},
	}}
}

// Has reports whether names has one, in words of a refusal.
func Has(names []string, one, what string) error {
	if slices.Contains(names, one) {
		return nil
	}
	return fmt.Errorf("there is no %s %s", what, one)
}
