package infra_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/orgpolicy/v2"
	"google.golang.org/api/secretmanager/v1"
	storageapi "google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const dataBucket = "det-deploy-lab-data-415104041262"

var _ hosted.StoredSecret = (*storage.Secret)(nil)

func TestDataBucketIsPrivate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		buckets := s.clients(t).Storage.Buckets
		wantClosed := func() {
			t.Helper()
			live, err := api.Do(t.Context(), buckets.Get(dataBucket))
			must(t, err)
			if c := live.IamConfiguration; !c.UniformBucketLevelAccess.Enabled || c.PublicAccessPrevention != "enforced" || live.SoftDeletePolicy.RetentionDurationSeconds != 0 {
				t.Errorf("got %+v and %+v, want access by IAM only and no soft delete", c, live.SoftDeletePolicy)
			}
		}
		wantClosed()
		must(t, api.Send(t.Context(), buckets.Patch(dataBucket, &storageapi.Bucket{
			IamConfiguration: &storageapi.BucketIamConfiguration{
				PublicAccessPrevention:   "inherited",
				UniformBucketLevelAccess: &storageapi.BucketIamConfigurationUniformBucketLevelAccess{ForceSendFields: []string{"Enabled"}},
			},
			SoftDeletePolicy: &storageapi.BucketSoftDeletePolicy{RetentionDurationSeconds: 3600},
		})))
		want := []string{"update gcp/bucket/data; access-lists: on → off; public-access-prevention: inherited → enforced; soft-delete: 3600 seconds → 0 seconds"}
		if d := cmp.Diff(s.plan(t), want); d != "" {
			t.Errorf("plan: got -, want +:\n%s", d)
		}
		must(t, s.up(t.Context()))
		wantClosed()
	})
}

// A bucket is deleted with all objects and their noncurrent versions, within Google's rate limits.
func TestDeleteFullBucket(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, slow())
		must(t, s.up(t.Context()))
		must(t, api.Send(t.Context(), s.clients(t).Storage.Buckets.Patch(dataBucket, &storageapi.Bucket{Versioning: &storageapi.BucketVersioning{Enabled: true}})))
		c := s.clients(t)
		for _, name := range strings.Split("abcdefghabc", "") {
			_, err := c.Upload(t.Context(), &storageapi.Object{Bucket: dataBucket, Name: name}, bytes.NewReader(nil), nil)
			must(t, err)
		}
		must(t, s.down(t.Context()))
		if got := s.world.Buckets(); len(got) > 0 {
			t.Errorf("got %v, want none", got)
		}
	})
}

// Another project may have taken the name of a bucket.
func TestBucketOfOtherProjectIsRejected(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.world.AddProject("others", 99)
		others, err := api.New(t.Context(), s.world.Client(""), api.Options{Project: "others", Region: "us-central1"})
		must(t, err)
		must(t, api.Send(t.Context(), others.Storage.Buckets.Insert(others.Project, &storageapi.Bucket{
			Name: dataBucket, Location: "us-central1", Labels: map[string]string{"det-deploy-cluster": "lab"},
		})))
		err = s.up(t.Context())
		e, ok := errors.AsType[*cloud.Error](err)
		if !ok || e.Kind != cloud.Denied || !strings.Contains(e.Hint(), "--cluster-id") || !strings.Contains(err.Error(), "project 99") {
			t.Errorf("got %v, want that the name is taken", err)
		}
		must(t, s.down(t.Context()))
		if _, err := api.Do(t.Context(), others.Storage.Buckets.Get(dataBucket)); err != nil {
			t.Errorf("got %v, want the other project's bucket to stay", err)
		}
	})
}

// A secret has one version, and neither lists of secrets nor plans contain its value.
func TestSecretHasOneVersion(t *testing.T) {
	for name, o := range map[string]gcptest.Options{"at once": {}, "filters that do not filter": {IgnoreFilters: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, o)
				s.wish.password = "tops3cret"
				must(t, s.up(t.Context()))
				sec := &storage.Secret{In: s.cluster(t.Context(), nil), Name: "admin-password"}
				s.wantSecret(t, sec, "tops3cret", "1")
				s.wish.password = "0ther"
				want := []string{"update gcp/secret/admin-password; value: different → the given value"}
				if d := cmp.Diff(s.plan(t), want); d != "" {
					t.Errorf("plan: got -, want +:\n%s", d)
				}
				must(t, s.up(t.Context()))
				s.wantSecret(t, sec, "0ther", "2")
				_, err := api.Do(t.Context(), sec.In.Clients.Secrets.Projects.Secrets.AddVersion(sec.In.Clients.SecretName(sec.FullName()), &secretmanager.AddSecretVersionRequest{Payload: &secretmanager.SecretPayload{Data: "eA=="}}))
				must(t, err)
				if d := cmp.Diff(s.plan(t), []string{"update gcp/secret/admin-password; versions: 2 → 1"}); d != "" {
					t.Errorf("plan: got -, want +:\n%s", d)
				}
				must(t, s.up(t.Context()))
				s.wantNothingToDo(t)
			})
		})
	}
}

// Whichever change is the last of a killed run, the next run stores the given value.
func TestAGivenSecretIsStoredAfterAKilledRun(t *testing.T) {
	for n, version := range []string{"3", "3", "2"} { // it adds a version, destroys the former one, and writes the digest
		t.Run(fmt.Sprintf("change %d", n+1), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, gcptest.Options{})
				s.wish.password = "tops3cret"
				must(t, s.up(t.Context()))
				s.wish.password = "0ther"
				s.world.FailChange(s.world.Changes()+n+1, faults.KillAfter)
				if err := s.up(t.Context()); err == nil {
					t.Error("got no error, want that the run was killed")
				}
				s.resume()
				must(t, s.up(t.Context()))
				s.wantSecret(t, &storage.Secret{In: s.cluster(t.Context(), nil), Name: "admin-password"}, "0ther", version)
				s.wantNothingToDo(t)
			})
		})
	}
}

func (*stage) wantSecret(t *testing.T, sec *storage.Secret, value, version string) {
	t.Helper()
	got, err := sec.Read(t.Context())
	gotVersion, versionErr := sec.Version(t.Context())
	if err != nil || versionErr != nil || got.Reveal() != value || gotVersion != version {
		t.Errorf("got %q, version %q, %v and %v, want %q and %q", got.Reveal(), gotVersion, err, versionErr, value, version)
	}
	all, err := api.List(t.Context(), sec.In.Clients.Secrets.Projects.Secrets.Versions.List(sec.In.Clients.SecretName(sec.FullName())).Filter("state:ENABLED OR state:DISABLED"), func(p *secretmanager.ListSecretVersionsResponse) []*secretmanager.SecretVersion { return p.Versions })
	all = slices.DeleteFunc(all, func(v *secretmanager.SecretVersion) bool { return v.State == "DESTROYED" })
	if err != nil || len(all) != 1 {
		t.Errorf("got %d versions and %v, want one", len(all), err)
	}
}

// A secret without a value after an interrupted run gets one, and a generated value is kept.
func TestGeneratedSecretIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		c := s.cluster(t.Context(), nil)
		must(t, api.Send(t.Context(), c.Clients.Secrets.Projects.Secrets.Create(c.Clients.ProjectName(), &secretmanager.Secret{
			Labels: c.Owned(), Replication: &secretmanager.Replication{Automatic: &secretmanager.Automatic{}},
		}).SecretId("det-deploy-lab-ca")))
		n := 0
		sec := &storage.Secret{In: c, Name: "ca", OpensData: true, Generate: func() (secret.Value, error) {
			n++
			return secret.Literal(strings.Repeat("k", n)), nil
		}}
		if v, err := sec.Version(t.Context()); v != "" || err != nil {
			t.Errorf("got version %q and %v, want none", v, err)
		}
		_, err := sec.Read(t.Context())
		if cloud.KindOf(err) != cloud.NotFound {
			t.Errorf("got %v, want that there is no value", err)
		}
		must(t, sec.Create(t.Context()))
		first, err := sec.Read(t.Context())
		must(t, err)
		must(t, sec.Create(t.Context()))
		s.wantSecret(t, sec, first.Reveal(), "1")
		if _, drift, err := sec.Find(t.Context()); len(drift) > 0 || err != nil {
			t.Errorf("got %v and %v, want nothing to change", drift, err)
		}
	})
}

// A secret belongs to data of the cluster or of the user, which no inventory lists.
func TestSecretRetainReason(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		for outside, want := range map[string]string{"": "required by the cluster's data", "database db.example.com": "required by database db.example.com, which is kept"} {
			s.wish.outside = outside
			must(t, s.up(t.Context()))
			sec := &storage.Secret{In: s.cluster(t.Context(), nil), Name: "db-url"}
			f, _, err := sec.Find(t.Context())
			if err != nil || f.Retain != want {
				t.Errorf("got %q and %v, want %q", f.Retain, err, want)
			}
		}
	})
}

// References name a secret by its ID or its full name, with a version or the newest one.
func TestSecretsOfReferences(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	w.AddProject("vault", 77)
	own, err := api.New(t.Context(), w.Client(""), api.Options{Project: gcptest.Project, Region: "us-central1"})
	must(t, err)
	for project, c := range map[string]api.Clients{gcptest.Project: own, "vault": own.In("vault")} {
		must(t, api.Send(t.Context(), c.Secrets.Projects.Secrets.Create(c.ProjectName(), &secretmanager.Secret{Replication: &secretmanager.Replication{Automatic: &secretmanager.Automatic{}}}).SecretId("db")))
		for _, value := range []string{project + " 1", project + " 2"} {
			_, err := api.Do(t.Context(), c.Secrets.Projects.Secrets.AddVersion(c.SecretName("db"), &secretmanager.AddSecretVersionRequest{Payload: &secretmanager.SecretPayload{
				Data: base64.StdEncoding.EncodeToString([]byte(value)), DataCrc32c: int64(crc32.Checksum([]byte(value), crc32.MakeTable(crc32.Castagnoli))),
			}}))
			must(t, err)
		}
	}
	for name, want := range map[string]string{
		"db": gcptest.Project + " 2", "db/versions/1": gcptest.Project + " 1", "db/versions/latest": gcptest.Project + " 2",
		"projects/vault/secrets/db": "vault 2", "projects/vault/secrets/db/versions/1": "vault 1",
	} {
		got, err := storage.SecretSource{Clients: own}.Secret(t.Context(), secret.Ref{Scheme: secret.GCP, Name: name})
		if got != want || err != nil {
			t.Errorf("%s: got %q and %v, want %q", name, got, err, want)
		}
	}
	_, err = storage.SecretSource{Clients: own}.Secret(t.Context(), secret.Ref{Scheme: secret.GCP, Name: "none"})
	if cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("got %v, want that there is none", err)
	}
}

// An organization may restrict its data to some regions, which excludes secrets with automatic
// replication.
func TestSecretsStayInTheClustersRegion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.world.Constrain(gcptest.Project, "gcp.resourceLocations", &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{
			Values: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRuleStringValues{AllowedValues: []string{"in:us-central1-locations"}},
		})
		must(t, s.up(t.Context()))
		all, err := api.List(t.Context(), s.clients(t).Secrets.Projects.Secrets.List(s.clients(t).ProjectName()), func(p *secretmanager.ListSecretsResponse) []*secretmanager.Secret { return p.Secrets })
		must(t, err)
		want := &secretmanager.Replication{UserManaged: &secretmanager.UserManaged{Replicas: []*secretmanager.Replica{{Location: "us-central1"}}}}
		for _, live := range all {
			if d := cmp.Diff(live.Replication, want); d != "" {
				t.Errorf("%s: got -, want +:\n%s", live.Name, d)
			}
		}
		if len(all) == 0 {
			t.Error("got no secrets, want some")
		}
		s.wantNothingToDo(t)
	})
}
