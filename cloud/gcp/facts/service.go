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

// RequiredAPIs are the APIs of Google's that a cluster and its installer use.
func RequiredAPIs() []string {
	return []string{
		"cloudresourcemanager.googleapis.com", computeAPI, "iam.googleapis.com", "logging.googleapis.com",
		"monitoring.googleapis.com", "secretmanager.googleapis.com", "storage.googleapis.com",
	}
}

// DisabledAPIs lists those of some APIs that the project has not enabled.
func (f Facts) DisabledAPIs(ctx context.Context, names []string) ([]string, error) {
	all, err := f.readAPIs(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("ask which APIs the project has enabled: %w", err)
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

// readAPIs reads whether APIs are enabled.
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

// EnableCommand is how a person enables APIs.
func EnableCommand(project string, names []string) string {
	return "`gcloud services enable " + strings.Join(names, " ") + " --project " + project + "`, and wait some minutes until it counts"
}

// toBeEnabled is how long Google may take to enable APIs, and between two looks.
const (
	toBeEnabled  = 5 * time.Minute
	betweenLooks = 2 * time.Second
)

// EnableAPIs enables APIs in the project, and returns when Google says that they are. It
// is the only question of this package that changes something.
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
			return fmt.Errorf("wait until %v are enabled: %w", left, err)
		}
	}
}
