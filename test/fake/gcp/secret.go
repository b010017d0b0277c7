package gcptest

import (
	"encoding/base64"
	"hash/crc32"
	"regexp"
	"slices"
	"strconv"
	"time"

	"google.golang.org/api/secretmanager/v1"
)

// vault is Secret Manager. Paths contain the project ID, responses the project number.
type vault struct {
	secrets table[secret]
}

// secret is a secret with its versions, the first at index 0.
type secret struct {
	secretmanager.Secret
	versions []*secretVersion
}

type secretVersion struct {
	secretmanager.SecretVersion
	data []byte
}

func secretActs() map[string]act {
	return map[string]act{
		"secretmanager.projects.secrets.create":             createSecret,
		"secretmanager.projects.secrets.get":                getSecret,
		"secretmanager.projects.secrets.list":               listSecrets,
		"secretmanager.projects.secrets.patch":              patchSecret,
		"secretmanager.projects.secrets.delete":             deleteSecret,
		"secretmanager.projects.secrets.getIamPolicy":       getSecretPolicy,
		"secretmanager.projects.secrets.setIamPolicy":       setSecretPolicy,
		"secretmanager.projects.secrets.testIamPermissions": testSecretPermissions,
		"secretmanager.projects.secrets.addVersion":         addVersion,
		"secretmanager.projects.secrets.versions.access":    accessVersion,
		"secretmanager.projects.secrets.versions.get":       getVersion,
		"secretmanager.projects.secrets.versions.list":      listVersions,
		"secretmanager.projects.secrets.versions.destroy":   destroyVersion,
		"secretmanager.projects.secrets.versions.disable":   disableVersion,
		"secretmanager.projects.secrets.versions.enable":    enableVersion,
	}
}

// secretID matches valid secret IDs.
// https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets/create
var secretID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,255}$`)

// createSecret: https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets/create
func createSecret(c *call) (any, error) {
	p, err := c.project(c.params["projectsId"])
	if err != nil {
		return nil, err
	}
	id := c.query.Get("secretId")
	s := &secret{Secret: *decode[secretmanager.Secret](c)}
	if !secretID.MatchString(id) {
		return nil, invalid("The secret ID %q is not valid.", id)
	}
	if err := p.checkReplication(s.Replication); err != nil {
		return nil, err
	}
	if err := checkLabels(s.Labels); err != nil {
		return nil, err
	}
	path := "projects/" + p.id + "/secrets/" + id
	if _, found := c.vault.secrets.get(path); found {
		return nil, refuse(409, "alreadyExists", "Secret [projects/%d/secrets/%s] already exists.", p.number, id)
	}
	s.Name = "projects/" + strconv.FormatUint(p.number, 10) + "/secrets/" + id
	s.CreateTime, s.Etag = c.stamp(), etagOf(1)
	c.vault.secrets.add(path, s)
	return &s.Secret, nil
}

// checkReplication returns an error for a secret without replication, or with a location that the
// organization policy denies: automatic replication counts as "global", which no list of locations
// contains. https://cloud.google.com/secret-manager/docs/choosing-replication
func (p *project) checkReplication(r *secretmanager.Replication) error {
	switch {
	case r == nil || (r.Automatic == nil) == (r.UserManaged == nil):
		return invalid("The replication of the secret must be either automatic or user managed.")
	case r.UserManaged != nil && len(r.UserManaged.Replicas) == 0:
		return invalid("The replication of the secret has no replicas.")
	}
	locations := []string{"global"}
	if r.UserManaged != nil {
		locations = nil
		for _, replica := range r.UserManaged.Replicas {
			locations = append(locations, replica.Location)
		}
	}
	const constraint = "gcp.resourceLocations"
	rule := p.constraints[constraint]
	if rule == nil || rule.Values == nil {
		return nil
	}
	for _, location := range locations {
		if !slices.Contains(rule.Values.AllowedValues, "in:"+location+"-locations") {
			return failedPrecondition("Constraint constraints/" + constraint + " violated for [projects/" + p.id + "] attempting to create a secret in [" + location + "].")
		}
	}
	return nil
}

// secretPath returns the path of the request's secret, whether the request names the project by ID
// or number.
func (c *call) secretPath() string {
	return "projects/" + c.projectID() + "/secrets/" + c.params["secretsId"]
}

// findSecret: https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets/get
func (c *call) findSecret() (*secret, error) {
	s, found := c.vault.secrets.get(c.secretPath())
	if !found {
		return nil, refuse(404, "notFound", "Secret [%s] not found.", c.secretPath())
	}
	return s, nil
}

func getSecret(c *call) (any, error) {
	s, err := c.findSecret()
	if err != nil {
		return nil, err
	}
	return &s.Secret, nil
}

func listSecrets(c *call) (any, error) {
	var items []any
	for _, r := range c.vault.secrets.listed("projects/"+c.projectID()+"/", c.behind()) {
		items = append(items, &r.v.Secret)
	}
	return c.namedPage("secrets", items)
}

func patchSecret(c *call) (any, error) {
	s, err := c.findSecret()
	if err != nil {
		return nil, err
	}
	body := decode[secretmanager.Secret](c)
	if err := checkEtag(body.Etag, s.Etag); err != nil {
		return nil, err
	}
	next := maskedCopy(&s.Secret, body, c.query.Get("updateMask"))
	next.Name, next.CreateTime, next.Etag = s.Name, s.CreateTime, nextEtag(s.Etag)
	s.Secret = *next
	return &s.Secret, nil
}

func deleteSecret(c *call) (any, error) {
	s, err := c.findSecret()
	if err != nil {
		return nil, err
	}
	if err := checkEtag(c.query.Get("etag"), s.Etag); err != nil {
		return nil, err
	}
	c.vault.secrets.remove(c.secretPath())
	c.access.forget(c.secretPath())
	return map[string]any{}, nil
}

func getSecretPolicy(c *call) (any, error) {
	if _, err := c.findSecret(); err != nil {
		return nil, err
	}
	return c.readPolicy(c.secretPath())
}

func setSecretPolicy(c *call) (any, error) {
	if _, err := c.findSecret(); err != nil {
		return nil, err
	}
	return c.writePolicy(c.secretPath())
}

func testSecretPermissions(c *call) (any, error) {
	if _, err := c.findSecret(); err != nil {
		return nil, err
	}
	return c.testPermissions(c.secretResource())
}

// secretResource returns the request's secret for policy checks. Its name in conditions contains
// the project number.
// https://cloud.google.com/iam/docs/conditions-resource-attributes#resource-name
func (c *call) secretResource() resourceName {
	on := resourceName{path: c.secretPath(), kind: "secretmanager.googleapis.com/Secret"}
	if p := c.projectOf(); p != nil {
		on.name = "projects/" + strconv.FormatUint(p.number, 10) + "/secrets/" + c.params["secretsId"]
	}
	return on
}

// largestSecret is the maximum size of a version.
// https://cloud.google.com/secret-manager/quotas#content_limits
const largestSecret = 64 << 10

// addVersion: https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets/addVersion
func addVersion(c *call) (any, error) {
	s, err := c.findSecret()
	if err != nil {
		return nil, err
	}
	payload := decode[secretmanager.AddSecretVersionRequest](c).Payload
	if payload == nil {
		return nil, invalid("The payload is missing.")
	}
	data, err := base64.StdEncoding.DecodeString(payload.Data)
	if err != nil || len(data) > largestSecret {
		return nil, invalid("The payload is longer than %d bytes.", largestSecret)
	}
	if _, given := c.sent()["payload"]; given && payload.DataCrc32c != 0 && payload.DataCrc32c != checksum(data) {
		return nil, invalid("The checksum does not match the payload.")
	}
	v := &secretVersion{data: data}
	v.Name = s.Name + "/versions/" + strconv.Itoa(len(s.versions)+1)
	v.CreateTime, v.State, v.Etag = c.stamp(), "ENABLED", etagOf(1)
	s.versions = append(s.versions, v)
	return &v.SecretVersion, nil
}

func checksum(data []byte) int64 {
	return int64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// findVersion returns a version by its number. "latest" is the newest one.
// https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets.versions/get
func (c *call) findVersion() (*secretVersion, error) {
	s, err := c.findSecret()
	if err != nil {
		return nil, err
	}
	id := c.params["versionsId"]
	n, err := strconv.Atoi(id)
	if id == "latest" {
		n, err = len(s.versions), nil
	}
	if err != nil || n < 1 || n > len(s.versions) {
		return nil, refuse(404, "notFound", "Secret Version [%s/versions/%s] not found.", c.secretPath(), id)
	}
	return s.versions[n-1], nil
}

// accessVersion: https://cloud.google.com/secret-manager/docs/access-secret-version
func accessVersion(c *call) (any, error) {
	v, err := c.findVersion()
	if err != nil {
		return nil, err
	}
	if v.State != "ENABLED" {
		return nil, failedPrecondition("Secret Version [" + v.Name + "] is in " + v.State + " state.")
	}
	return &secretmanager.AccessSecretVersionResponse{Name: v.Name, Payload: &secretmanager.SecretPayload{
		Data: base64.StdEncoding.EncodeToString(v.data), DataCrc32c: checksum(v.data),
	}}, nil
}

func getVersion(c *call) (any, error) {
	v, err := c.findVersion()
	if err != nil {
		return nil, err
	}
	return &v.SecretVersion, nil
}

func listVersions(c *call) (any, error) {
	s, err := c.findSecret()
	if err != nil {
		return nil, err
	}
	var items []any
	for i := len(s.versions) - 1; i >= 0; i-- { // newest first
		items = append(items, &s.versions[i].SecretVersion)
	}
	return c.namedPage("versions", items)
}

func destroyVersion(c *call) (any, error) { return c.setVersionState("DESTROYED") }
func disableVersion(c *call) (any, error) { return c.setVersionState("DISABLED") }
func enableVersion(c *call) (any, error)  { return c.setVersionState("ENABLED") }

// setVersionState changes the state of a version. A destroyed version cannot change.
// https://cloud.google.com/secret-manager/docs/destroy-secret-version
func (c *call) setVersionState(state string) (any, error) {
	v, err := c.findVersion()
	if err != nil {
		return nil, err
	}
	if v.State == "DESTROYED" {
		return nil, failedPrecondition("Secret Version [" + v.Name + "] is in DESTROYED state.")
	}
	v.State, v.Etag = state, nextEtag(v.Etag)
	if state == "DESTROYED" {
		v.data, v.DestroyTime = nil, c.now().Format(time.RFC3339Nano)
	}
	return &v.SecretVersion, nil
}
