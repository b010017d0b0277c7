package userdata_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/booter/ec2cloud"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// program builds det-deploy once for all tests of this package.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "det-deploy-bin-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is read by then
	path := filepath.Join(dir, "det-deploy")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "github.com/det-deploy/det-deploy/cmd/det-deploy")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w\n%s", err, out)
	}
	return os.ReadFile(path)
})

// cluster is what an installer would have made: a bucket, roles, and machines.
type cluster struct {
	t       *testing.T
	lab     *booter.Lab
	account *motest.Account
	boot    *booter.Booter
	s3      *s3.Client
	ec2     *ec2.Client
	// bucket is the cluster's control bucket.
	bucket string

	ca, key string
	// binary is the program's object.
	binary     manifest.File
	generation int
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	lab := booter.OpenLab(t)
	server := motest.Serve(t, motest.Place{Address: booter.Gateway, Wrap: lab.Wrap(), Client: lab.Client()})
	c := &cluster{t: t, lab: lab, account: server.Account(t)}
	c.bucket = "det-deploy-lab-" + c.account.ID
	c.boot = booter.Start(t, lab, ec2cloud.New(c.account))
	cfg := c.account.Config()
	c.s3 = s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	c.ec2 = ec2.NewFromConfig(cfg)
	c.ca, c.key = pki(t)
	if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &c.bucket, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{
		LocationConstraint: s3types.BucketLocationConstraint(motest.Region),
	}}); err != nil {
		t.Fatal(err)
	}
	c.binary = c.upload("")
	return c
}

// upload uploads the program as another version: what follows the program in
// its file does not matter to it.
func (c *cluster) upload(version string) manifest.File {
	c.t.Helper()
	data, err := program()
	if err != nil {
		c.t.Fatal(err)
	}
	data = append(data[:len(data):len(data)], version...)
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	f := manifest.File{Key: manifest.BinaryKey(hash), SHA256: hash}
	c.put(f.Key, data)
	return f
}

func (c *cluster) put(key string, data []byte) {
	c.t.Helper()
	if _, err := c.s3.PutObject(c.t.Context(), &s3.PutObjectInput{Bucket: &c.bucket, Key: &key, Body: bytes.NewReader(data)}); err != nil {
		c.t.Fatalf("put %s: %v", key, err)
	}
}

// get is an object, or nothing.
func (c *cluster) get(key string) []byte {
	out, err := c.s3.GetObject(c.t.Context(), &s3.GetObjectInput{Bucket: &c.bucket, Key: &key})
	if err != nil {
		return nil
	}
	defer func() { _ = out.Body.Close() }() // it was only read
	data, err := io.ReadAll(out.Body)
	if err != nil {
		return nil
	}
	return data
}

// want writes the next manifest.
func (c *cluster) want(files map[string]string, edit ...func(*manifest.Manifest)) {
	c.t.Helper()
	c.generation++
	m := manifest.Manifest{
		Schema: manifest.Schema, Cluster: "lab", Generation: c.generation, Version: "1", Phase: manifest.Serve,
		Binaries: map[string]manifest.File{runtime.GOARCH: c.binary}, Files: map[string]manifest.File{},
		Health: manifest.Health{URL: "https://127.0.0.1:8443/health", CA: "/etc/determined/ca.pem", Name: certName},
	}
	for path, text := range files {
		sum := sha256.Sum256([]byte(text))
		f := manifest.File{SHA256: hex.EncodeToString(sum[:]), Mode: 0o600}
		f.Key = manifest.FileKey(f.SHA256)
		c.put(f.Key, []byte(text))
		m.Files[path] = f
	}
	for _, e := range edit {
		e(&m)
	}
	data, err := m.Encode()
	if err != nil {
		c.t.Fatal(err)
	}
	c.put(manifest.Key, data)
}

// status is what the master's machine says.
func (c *cluster) status() manifest.Status {
	s, err := manifest.ParseStatus(c.get(manifest.StatusKey))
	if err != nil {
		return manifest.Status{}
	}
	return s
}

// launch launches a machine and returns it.
func (c *cluster) launch(role string, data []byte) types.Instance {
	c.t.Helper()
	var market *types.InstanceMarketOptionsRequest
	if role == "agent" {
		market = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
	}
	out, err := c.ec2.RunInstances(c.t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(motest.ImageAMD64), InstanceType: types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		UserData:              aws.String(base64.StdEncoding.EncodeToString(data)),
		IamInstanceProfile:    &types.IamInstanceProfileSpecification{Name: &role},
		InstanceMarketOptions: market,
		MetadataOptions:       &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return out.Instances[0]
}

// ask asks the master, from the lab, for a path.
func (c *cluster) ask(address, path string) string {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(c.ca))
	client := c.lab.Client()
	client.Timeout = 10 * time.Second
	transport, ok := client.Transport.(*http.Transport)
	if !ok {
		c.t.Fatalf("got a transport of %T", client.Transport)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, ServerName: certName, MinVersion: tls.VersionTLS12}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "https://"+address+":8443"+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// run runs a program in a machine and returns what it wrote, or why it could
// not: the machine may not run yet.
func (c *cluster) run(id, name string, args ...string) string {
	// A machine that is being killed answers nothing.
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	cmd, err := c.boot.Command(ctx, id, name, args...)
	if err != nil {
		return err.Error()
	}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", out, err)
	}
	return string(out)
}

// eventually polls for what is said; last is shown when it does not come.
func eventually(t *testing.T, what string, ok func() bool, last func() any) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); <-time.After(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within three minutes, last seen: %v", what, last())
		}
	}
}

// lines are det-deploy's own on a machine's console.
func (c *cluster) lines(id string) any {
	var out []string
	for line := range strings.Lines(c.boot.Console(id)) {
		if strings.Contains(line, "det-deploy") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}
