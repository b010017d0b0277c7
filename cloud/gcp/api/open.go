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

// Options says whose clients are wanted, and what stands before their calls.
type Options struct {
	// Project is the ID of a project; empty means the environment's, that of gcloud's
	// active configuration, or that of the credentials.
	Project string
	// Region is where; empty means the environment's or that of gcloud's active
	// configuration.
	Region string
	// Impersonate is the service account whose rights are used, or a list of them,
	// separated by commas, of which each impersonates the next. Empty means that of
	// gcloud's active configuration, or none.
	Impersonate string
	// AnyRegion is for questions that are about no region, and AnyProject for those about
	// no project: none need be chosen, and it is then empty in the clients.
	AnyRegion, AnyProject bool
	// Gate is asked before every call that changes something. Nil lets all pass.
	Gate *resource.Gate
	// Log gets one line a call at debug level. Nil is silence.
	Log *slog.Logger

	zone      string
	endpoints endpoints
	identity  func(context.Context) (string, error)
}

// Open builds the clients of one region. Unless the project is only known from the
// credentials, it looks for these when the first call is made, and makes none itself.
func Open(ctx context.Context, o Options) (Clients, error) {
	settings, err := readSettings(o)
	if err != nil {
		return Clients{}, &cloud.Error{Kind: cloud.Invalid, Op: "gcloud", Fix: "correct gcloud's configuration with `gcloud config list`", Err: err}
	}
	creds := &credentialSource{impersonate: settings.impersonate}
	o.Region = settings.region
	o.Project = cmp.Or(settings.project, creds.projectID(ctx))
	switch {
	case o.Project == "" && !o.AnyProject:
		return Clients{}, unset("no project is chosen", "say which with --project, or run `gcloud config set project`")
	case o.Region == "" && !o.AnyRegion:
		return Clients{}, unset("no region is chosen", "say where with --region, or run `gcloud config set compute/region`")
	}
	creds.quotaProject = settings.quotaProject
	creds.project = o.Project
	o.zone, o.endpoints, o.identity = settings.zone, settings.endpoints, creds.findIdentity
	return New(ctx, &http.Client{Transport: &authenticator{source: creds, next: newTransport()}}, o)
}

func unset(what, fix string) error {
	return &cloud.Error{Kind: cloud.Invalid, Op: "gcp", Fix: fix, Err: errors.New(what)}
}

// answerLimit is the timeout for the response to a request that was sent in full. Google
// takes two minutes to answer a wait for an operation; without a limit a dead connection
// would block its caller until its context ends.
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

// New builds clients that send through a client of the caller's own, which has the
// credentials. Project and Region have to be set. Nothing is sent.
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

// endpoints are the addresses of services that are not where Google has them, such as
// private endpoints, by the names that gcloud has for the services: "compute". It is empty
// for one that is, and may be nil.
type endpoints func(service string) string

// options are those of a service's client.
func (e endpoints) options(service string, client option.ClientOption) []option.ClientOption {
	if e == nil || e(service) == "" {
		return []option.ClientOption{client}
	}
	return []option.ClientOption{client, option.WithEndpoint(e(service))}
}
