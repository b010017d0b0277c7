package facts

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/serviceusage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/internal/wait"
)

const computeAPI = "compute.googleapis.com"

// RequiredAPIs returns the APIs that a cluster and its installer use.
func RequiredAPIs() []string {
	return []string{
		"cloudresourcemanager.googleapis.com", computeAPI, "iam.googleapis.com", "logging.googleapis.com",
		"monitoring.googleapis.com", "secretmanager.googleapis.com", "storage.googleapis.com",
	}
}

// HelpfulAPIs returns the APIs that only checks use.
func HelpfulAPIs() []string { return []string{"orgpolicy.googleapis.com"} }

// DisabledAPIs returns the APIs that are not enabled in the project.
func (f Facts) DisabledAPIs(ctx context.Context, names []string) ([]string, error) {
	all, err := f.readAPIs(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("read the project's enabled APIs: %w", err)
	}
	var out []string
	for _, s := range all {
		if s.State != "ENABLED" {
			out = append(out, path.Base(s.Name))
		}
	}
	slices.Sort(out)
	return out, nil
}

// readAPIs reads the state of APIs.
func (f Facts) readAPIs(ctx context.Context, names []string) ([]*serviceusage.GoogleApiServiceusageV1Service, error) {
	full := make([]string, len(names))
	for i, name := range names {
		full[i] = f.Clients.ProjectName() + "/services/" + name
	}
	out, err := api.Do(ctx, f.Clients.Usage.Services.BatchGet(f.Clients.ProjectName()).Names(full...))
	if err != nil {
		return nil, err
	}
	return out.Services, nil
}

// EnableCommand returns the command that enables APIs.
func EnableCommand(project string, names []string) string {
	return "`gcloud services enable " + strings.Join(names, " ") + " --project " + project + "`, and wait a few minutes until it takes effect"
}

// toBeEnabled is the timeout for enabling APIs, betweenLooks the polling interval.
const (
	toBeEnabled  = 5 * time.Minute
	betweenLooks = 2 * time.Second
)

// EnableAPIs enables APIs in the project and waits until they are enabled. It makes the only
// modifying calls of this package.
func (f Facts) EnableAPIs(ctx context.Context, names []string) error {
	in := &serviceusage.BatchEnableServicesRequest{ServiceIds: names}
	if err := api.Send(ctx, f.Clients.Usage.Services.BatchEnable(f.Clients.ProjectName(), in)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, toBeEnabled)
	defer cancel()
	for {
		left, err := f.DisabledAPIs(ctx, names)
		if err == nil && len(left) == 0 {
			return nil
		}
		if err != nil && !cloud.KindOf(err).Transient() {
			return err
		}
		if err := wait.For(ctx, betweenLooks); err != nil {
			return fmt.Errorf("wait until the APIs %v are enabled: %w", left, err)
		}
	}
}
