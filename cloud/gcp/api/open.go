package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/logging/v2"
	"google.golang.org/api/monitoring/v3"
	"google.golang.org/api/option"
	"google.golang.org/api/orgpolicy/v2"
	"google.golang.org/api/secretmanager/v1"
	"google.golang.org/api/serviceusage/v1"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Options configures clients.
type Options struct {
	// Project is the project ID. If it is empty, it is taken from the environment, the active
	// gcloud configuration or the credentials.
	Project string
	// Region is the region. If it is empty, it is taken from the environment or the active gcloud
	// configuration.
	Region string
	// Impersonate is the service account to impersonate, or a comma-separated chain of them, each
	// of which impersonates the next. If it is empty, that of the active gcloud configuration is
	// used, if any.
	Impersonate string
	// AnyRegion and AnyProject are set for calls that do not depend on a region or a project. An
	// unset region or project is then empty in the clients, and not an error.
	AnyRegion, AnyProject bool
	// Gate is passed before every modifying call. Nil permits all calls.
	Gate *resource.Gate
	// Log receives one debug message per call. Nil disables it.
	Log *slog.Logger

	zone      string
	endpoints endpoints
	identity  func(context.Context) (string, error)
}

// Open returns the clients of one region. It makes no API calls and loads the credentials at the
// first call, unless the project has to be taken from the credentials.
func Open(ctx context.Context, o Options) (Clients, error) {
	settings, err := readSettings(o)
	if err != nil {
		return Clients{}, &cloud.Error{Kind: cloud.Invalid, Op: "gcloud", Fix: "correct the gcloud configuration; `gcloud config list` shows it", Err: err}
	}
	creds := &credentialSource{impersonate: settings.impersonate}
	o.Region = settings.region
	o.Project = cmp.Or(settings.project, creds.projectID(ctx))
	switch {
	case o.Project == "" && !o.AnyProject:
		return Clients{}, unset("no project is set", "set it with --project or `gcloud config set project`")
	case o.Region == "" && !o.AnyRegion:
		return Clients{}, unset("no region is set", "set it with --region or `gcloud config set compute/region`")
	}
	creds.quotaProject = settings.quotaProject
	creds.project = o.Project
	o.zone, o.endpoints, o.identity = settings.zone, settings.endpoints, creds.findIdentity
	return New(ctx, &http.Client{Transport: &authenticator{source: creds, next: newTransport()}}, o)
}

func unset(what, fix string) error {
	return &cloud.Error{Kind: cloud.Invalid, Op: "gcp", Fix: fix, Err: errors.New(what)}
}

// answerLimit is the timeout for the response to a request that was sent in full. Waiting for an
// operation takes up to two minutes. Without a limit, a dead connection would block the caller
// until its context is done.
const answerLimit = 3 * time.Minute

func newTransport() http.RoundTripper {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t := standard.Clone()
	t.ResponseHeaderTimeout = answerLimit
	return t
}

// New returns clients that send requests through the given client, which adds the credentials.
// Project and Region are required. It makes no API calls.
func New(ctx context.Context, client *http.Client, o Options) (Clients, error) {
	through := *client
	through.Transport = &transport{
		next: cmp.Or[http.RoundTripper](client.Transport, http.DefaultTransport), project: o.Project, gate: o.Gate,
		log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), rows: rows(), table: Table(),
	}
	c := Clients{Project: o.Project, Region: o.Region, Zone: o.zone, identity: o.identity}
	if err := c.openServices(ctx, o.endpoints, option.WithHTTPClient(&through)); err != nil {
		return Clients{}, &cloud.Error{Kind: cloud.Invalid, Op: "gcp", Err: err}
	}
	return c, nil
}

func (c *Clients) openServices(ctx context.Context, at endpoints, client option.ClientOption) error {
	var errs [9]error
	c.Compute, errs[0] = compute.NewService(ctx, at.options("compute", client)...)
	c.Storage, errs[1] = storage.NewService(ctx, at.options("storage", client)...)
	c.IAM, errs[2] = iam.NewService(ctx, at.options("iam", client)...)
	c.Resources, errs[3] = cloudresourcemanager.NewService(ctx, at.options("cloudresourcemanager", client)...)
	c.Secrets, errs[4] = secretmanager.NewService(ctx, at.options("secretmanager", client)...)
	c.Usage, errs[5] = serviceusage.NewService(ctx, at.options("serviceusage", client)...)
	c.OrgPolicy, errs[6] = orgpolicy.NewService(ctx, at.options("orgpolicy", client)...)
	c.Logging, errs[7] = logging.NewService(ctx, at.options("logging", client)...)
	c.Monitoring, errs[8] = monitoring.NewService(ctx, at.options("monitoring", client)...)
	return errors.Join(errs[:]...)
}

// endpoints returns the endpoint override of a service, such as a private endpoint, by its gcloud
// name: "compute". It returns "" if there is no override. It may be nil.
type endpoints func(service string) string

// options returns the options of a service's client.
func (e endpoints) options(service string, client option.ClientOption) []option.ClientOption {
	if e == nil || e(service) == "" {
		return []option.ClientOption{client}
	}
	return []option.ClientOption{client, option.WithEndpoint(e(service))}
}
