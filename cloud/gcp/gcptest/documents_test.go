package gcptest

import (
	"encoding/json"
	"testing"

	"google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/logging/v2"
	"google.golang.org/api/monitoring/v3"
	"google.golang.org/api/secretmanager/v1"
	"google.golang.org/api/serviceusage/v1"
	"google.golang.org/api/storage/v1"
)

// The documents are those of the services that det-deploy calls, and have their scopes.
func TestDocumentsAreThoseOfTheClients(t *testing.T) {
	t.Parallel()
	scopes := map[string]string{
		"compute": compute.ComputeScope, "storage": storage.DevstorageReadWriteScope, "iam": iam.CloudPlatformScope,
		"resources": cloudresourcemanager.CloudPlatformScope, "secretmanager": secretmanager.CloudPlatformScope,
		"logging": logging.LoggingWriteScope, "monitoring": monitoring.MonitoringWriteScope, "serviceusage": serviceusage.ServiceManagementScope,
	}
	module, err := findModule(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for service := range documentFiles() {
		b, err := readDocument(module, service)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Auth struct{ OAuth2 struct{ Scopes map[string]any } }
		}
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		if _, found := doc.Auth.OAuth2.Scopes[scopes[service]]; !found {
			t.Errorf("%s: no scope %s", service, scopes[service])
		}
	}
}
