package userdata_test

import (
	"bytes"
	"testing"
	"time"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/booter/gcecloud"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const (
	zone          = "us-west1-b"
	cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"
)

// google is a cluster in a Google Cloud project.
type google struct {
	*cluster

	world   *gcptest.World
	cloud   *gcecloud.Cloud
	clients api.Clients
	// bucket is the cluster's control bucket.
	bucket string
}

func newGoogle(t *testing.T) *google {
	t.Helper()
	lab := booter.OpenLab(t)
	c := &google{bucket: "det-deploy-lab-415104041262"}
	c.world = gcptest.New(t, gcptest.Options{Operation: 200 * time.Millisecond, Provisioning: 200 * time.Millisecond})
	c.cloud = gcecloud.New(t, lab, c.world, gcecloud.Options{Image: map[string]string{
		// No master launched the agents' machines: the master would reject them and they would shut
		// down.
		"etc/systemd/system/det-deploy-agent.service.d/idle.conf": "[Service]\nExecStart=\nExecStart=/bin/sleep infinity\n",
	}})
	boot := booter.Start(t, lab, c.cloud)
	var err error
	c.clients, err = api.New(t.Context(), c.world.Client(""), api.Options{Project: gcptest.Project, Region: "us-west1"})
	must(t, err)
	must(t, api.Send(t.Context(), c.clients.Storage.Buckets.Insert(c.clients.Project, &storage.Bucket{Name: c.bucket, Location: "us-west1", IamConfiguration: &storage.BucketIamConfiguration{
		UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true},
	}})))
	c.cluster = newCluster(t, cluster{objects: gcsObjects{t, c.clients, c.bucket}, lab: lab, boot: boot, logs: "det-deploy-lab", metrics: true})
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// giveAccount creates a service account with a role of the given permissions in the project.
func (c *google) giveAccount(t *testing.T, id string, permissions []string) (email string) {
	t.Helper()
	must(t, api.Send(t.Context(), c.clients.IAM.Projects.Roles.Create(c.clients.ProjectName(), &iam.CreateRoleRequest{RoleId: id, Role: &iam.Role{Title: id, Stage: "GA", IncludedPermissions: permissions}})))
	email = c.world.GiveAccount(gcptest.Project, "det-"+id)
	c.world.Bind("projects/"+gcptest.Project, "projects/"+gcptest.Project+"/roles/"+id, "serviceAccount:"+email)
	return email
}

// launchMaster launches the master's machine with its data disk.
func (c *google) launchMaster(t *testing.T, script []byte) (id, address string) {
	t.Helper()
	email := c.giveAccount(t, "master", identity.MasterPermissions())
	c.world.Bind("buckets/"+c.bucket, "roles/storage.objectUser", "serviceAccount:"+email)
	c.world.GiveDisk(gcptest.Project, zone, "det-lab-data", 100)
	text := string(script)
	must(t, api.Run(t.Context(), c.clients, c.clients.Compute.Instances.Insert(c.clients.Project, zone, &compute.Instance{
		Name: "det-lab-master", MachineType: "zones/" + zone + "/machineTypes/n2-standard-2",
		Metadata: &compute.Metadata{Items: []*compute.MetadataItems{{Key: "startup-script", Value: &text}}},
		Disks: []*compute.AttachedDisk{
			{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageDebian}},
			{Source: "projects/" + gcptest.Project + "/zones/" + zone + "/disks/det-lab-data", DeviceName: "det-data", Mode: "READ_WRITE"},
		},
		NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default"}},
		ServiceAccounts:   []*compute.ServiceAccount{{Email: email, Scopes: []string{cloudPlatform}}},
	})))
	return "det-lab-master", c.cloud.Find("det-lab-master").NetworkInterfaces[0].NetworkIP
}

// gcsObjects is a Cloud Storage bucket.
type gcsObjects struct {
	t       *testing.T
	clients api.Clients
	bucket  string
}

func (c gcsObjects) put(key string, data []byte) {
	c.t.Helper()
	in := &storage.Object{Bucket: c.bucket, Name: key, ContentType: "application/octet-stream"}
	if _, err := c.clients.Upload(c.t.Context(), in, bytes.NewReader(data), nil); err != nil {
		c.t.Fatalf("put %s: %v", key, err)
	}
}

func (c gcsObjects) get(key string) []byte {
	out, err := api.Read(c.t.Context(), c.clients.Storage.Objects.Get(c.bucket, key))
	if err != nil {
		return nil
	}
	return out.Data
}
