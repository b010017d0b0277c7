package parts

import (
	"context"
	"encoding/base64"
	"hash/crc32"
	"strings"
	"testing"

	"google.golang.org/api/secretmanager/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
	"github.com/det-deploy/det-deploy/cloud/secret"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// storeSecret adds a secret with one version per value.
func storeSecret(t *testing.T, c api.Clients, id string, values ...string) {
	t.Helper()
	err := api.Send(t.Context(), c.Secrets.Projects.Secrets.Create(c.ProjectName(), &secretmanager.Secret{Replication: &secretmanager.Replication{Automatic: &secretmanager.Automatic{}}}).SecretId(id))
	for _, v := range values {
		if err == nil {
			_, err = api.Do(t.Context(), c.Secrets.Projects.Secrets.AddVersion(c.SecretName(id), &secretmanager.AddSecretVersionRequest{Payload: &secretmanager.SecretPayload{
				Data:       base64.StdEncoding.EncodeToString([]byte(v)),
				DataCrc32c: int64(crc32.Checksum([]byte(v), crc32.MakeTable(crc32.Castagnoli))),
			}}))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSecretManagerReferences(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	w.AddProject("other-ml", 7)
	insertMachine(t, w, zoneB, masterName, nil)
	opened := 0
	open := func(ctx context.Context, o api.Options) (api.Clients, error) {
		opened++
		return api.New(ctx, w.Client(""), o)
	}
	for _, project := range []string{gcptest.Project, "other-ml"} {
		c, err := api.New(t.Context(), w.Client(""), api.Options{Project: project, Region: "us-west1"})
		if err != nil {
			t.Fatal(err)
		}
		storeSecret(t, c, "db", project+"-old", project+"-new")
	}
	source := &gcpSecrets{open: open, home: fleet.Home{Metadata: metadata.Server{Transport: gcptest.InProcess(w.Metadata(gcptest.Project, zoneB, masterName))}}}
	r := secret.Resolver{Sources: map[secret.Scheme]secret.Source{secret.GCP: source}}
	resolve := func(text string) (secret.Value, error) {
		v, err := secret.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return r.Resolve(t.Context(), v)
	}
	if opened != 0 {
		t.Error("a client was opened before there was a use for it")
	}
	for range 2 {
		for text, want := range map[string]string{
			"gcp-sm:db": gcptest.Project + "-new", "gcp-sm:db/versions/1": gcptest.Project + "-old",
			"gcp-sm:projects/other-ml/secrets/db":                 "other-ml-new",
			"gcp-sm:projects/other-ml/secrets/db/versions/1":      "other-ml-old",
			"gcp-sm:projects/other-ml/secrets/db/versions/latest": "other-ml-new",
		} {
			if got, err := resolve(text); err != nil || got.Reveal() != want {
				t.Errorf("%s: got %q, %v; want %q", text, got.Reveal(), err, want)
			}
		}
	}
	if opened != 2 {
		t.Errorf("got %d clients opened, want one a project", opened)
	}
	if _, err := resolve("gcp-sm:none"); cloud.KindOf(err) != cloud.NotFound || !strings.Contains(err.Error(), "gcp-sm:none") {
		t.Errorf("a secret that does not exist: got %v", err)
	}
}

// A master can read every kind of secret reference.
func TestMasterReadsAllSecretSources(t *testing.T) {
	t.Parallel()
	for _, scheme := range []secret.Scheme{secret.AWS, secret.GCP} {
		if secretResolver().Sources[scheme] == nil {
			t.Errorf("%s: references are not read", scheme)
		}
	}
}
