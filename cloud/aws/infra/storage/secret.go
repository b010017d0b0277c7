package storage

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// valuePath is the drift path for a given value that differs from the stored one. The drift never
// contains either value.
const valuePath = "value"

// Secret is a secret in Secrets Manager. It is stored nowhere else.
type Secret struct {
	In *mark.Cluster
	// Name identifies the secret within the cluster: "admin-password". It is stored as
	// det-deploy/<cluster>/<name>.
	Name string
	// Given is the user's value. A different stored value is replaced.
	Given secret.Value
	// Generate returns the value if none is given. It is called only once, because a stored value
	// is kept.
	Generate func() (secret.Value, error)
	// OpensData retains the secret as long as the data that requires it.
	OpensData bool

	infra.Learned
	// value and version are those that this process has stored.
	value   secret.Value
	version string
}

var _ resource.Updater = (*Secret)(nil)

// SecretName returns the name of a cluster's secret in Secrets Manager.
func SecretName(cluster, name string) string { return secretPrefix(cluster) + name }

func secretPrefix(cluster string) string { return "det-deploy/" + cluster + "/" }

// ID returns the resource ID "aws/secret/NAME".
func (s *Secret) ID() string { return mark.ResourceID(mark.KindSecret, s.Name) }

// Kind returns KindSecret.
func (*Secret) Kind() string { return mark.KindSecret }

// Needs returns nil.
func (*Secret) Needs() []string { return nil }

func (s *Secret) storedName() string { return SecretName(s.In.ID, s.Name) }

// wantedTags returns all tags except the digest of a given value, which differs each time.
func (s *Secret) wantedTags() map[string]string {
	out := s.In.Marks(s.Name, "")
	out[mark.RetainTag] = mark.RetainNo
	if s.OpensData {
		out[mark.RetainTag] = mark.RetainYes
		if s.In.Outside != "" {
			out[mark.OpensTag] = s.In.Outside
		}
	}
	return out
}

// Find finds the secret without reading its value. A secret that is scheduled for deletion counts
// as deleted; Create restores it.
func (s *Secret) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	live, err := describeSecret(ctx, s.In, s.storedName())
	if err != nil || live.DeletedDate != nil {
		return resource.Found{}, nil, infra.IgnoreMissing(err)
	}
	tags, err := ownSecretTags(s.In, live.Name, live.Tags)
	if err != nil {
		return resource.Found{}, nil, err
	}
	s.Learn(s.storedName())
	return s.In.Found(mark.KindSecret, infra.Observed{Identity: s.Identity(), Marks: tags}), s.secretDrift(tags), nil
}

func (s *Secret) secretDrift(tags map[string]string) []resource.Drift {
	out := infra.MarkDrift(tags, s.wantedTags())
	if !s.Given.IsZero() && !infra.DigestMatches(tags[mark.DigestTag], s.storedName(), s.Given.Reveal()) {
		out = append(out, resource.Drift{Path: valuePath, Have: "different", Want: "the given value"})
	}
	return out
}

// Create stores the secret, or restores it with its previous value.
func (s *Secret) Create(ctx context.Context) error {
	var live *sm.DescribeSecretOutput
	value, tags, err := s.newValue()
	if err != nil {
		var lookErr error
		if live, lookErr = describeSecret(ctx, s.In, s.storedName()); lookErr != nil {
			return err
		}
		return s.adoptStored(ctx, live)
	}
	// A secret that was recently deleted or is scheduled for deletion still occupies the name.
	err = s.In.Waiter().RetryOn(ctx, s.ID(), infra.ToAppear, cloud.Conflict, func() error {
		err := s.storeValue(ctx, value, tags)
		if cloud.KindOf(err) != cloud.Conflict {
			return err
		}
		there, lookErr := describeSecret(ctx, s.In, s.storedName())
		switch {
		case cloud.KindOf(lookErr) == cloud.NotFound:
			return err
		case lookErr == nil:
			live = there
		}
		return lookErr
	})
	if err != nil || live == nil {
		return err
	}
	return s.adoptStored(ctx, live)
}

// adoptStored adopts an existing secret: one stored by an earlier call whose response was lost, or
// one that is scheduled for deletion.
func (s *Secret) adoptStored(ctx context.Context, live *sm.DescribeSecretOutput) error {
	s.Learn(s.storedName())
	if live.DeletedDate != nil {
		if _, err := s.In.Clients.Secrets.RestoreSecret(ctx, &sm.RestoreSecretInput{SecretId: aws.String(s.Identity())}); err != nil {
			return err
		}
	}
	tags, err := ownSecretTags(s.In, live.Name, live.Tags)
	if err != nil {
		return err
	}
	return s.Update(ctx, s.secretDrift(tags))
}

func (s *Secret) storeValue(ctx context.Context, value secret.Value, tags map[string]string) error {
	out, err := s.In.Clients.Secrets.CreateSecret(ctx, &sm.CreateSecretInput{
		Name: aws.String(s.storedName()), SecretString: aws.String(value.Reveal()),
		Description: aws.String("det-deploy cluster " + s.In.ID + ": " + s.Name), Tags: smTags(tags),
	})
	if err == nil {
		s.Learn(s.storedName())
		s.value, s.version = value, aws.ToString(out.VersionId)
	}
	return err
}

func (s *Secret) newValue() (secret.Value, map[string]string, error) {
	tags := s.wantedTags()
	if s.Given.IsZero() {
		v, err := s.Generate()
		return v, tags, err
	}
	tags[mark.DigestTag] = infra.Digest(s.storedName(), s.Given.Reveal())
	return s.Given, tags, nil
}

// Update corrects tags and stores the given value. The digest is written last: without it, the
// value is stored again.
func (s *Secret) Update(ctx context.Context, drift []resource.Drift) error {
	tags := infra.WantedMarks(drift)
	for _, d := range drift {
		if d.Path != valuePath {
			continue
		}
		tags[mark.DigestTag] = infra.Digest(s.storedName(), s.Given.Reveal())
		s.value, s.version = secret.Value{}, ""
		_, err := s.In.Clients.Secrets.PutSecretValue(ctx, &sm.PutSecretValueInput{
			SecretId: aws.String(s.Identity()), SecretString: aws.String(s.Given.Reveal()),
		})
		if err != nil {
			return err
		}
	}
	if len(tags) == 0 {
		return nil
	}
	_, err := s.In.Clients.Secrets.TagResource(ctx, &sm.TagResourceInput{SecretId: aws.String(s.Identity()), Tags: smTags(tags)})
	return err
}

// Delete deletes the secret without a recovery window, so that its name becomes available.
func (s *Secret) Delete(ctx context.Context) error { return DeleteSecret(ctx, s.In, s.Identity()) }

// DeleteSecret deletes a secret without a recovery window, so that its name becomes available.
func DeleteSecret(ctx context.Context, c *mark.Cluster, stored string) error {
	_, err := c.Clients.Secrets.DeleteSecret(ctx, &sm.DeleteSecretInput{
		SecretId: aws.String(stored), ForceDeleteWithoutRecovery: aws.Bool(true),
	})
	return infra.IgnoreMissing(err)
}

// Read returns the stored value. It is for use during an apply; plans do not need it.
func (s *Secret) Read(ctx context.Context) (secret.Value, error) {
	if !s.value.IsZero() {
		return s.value, nil
	}
	out, err := s.In.Clients.Secrets.GetSecretValue(ctx, &sm.GetSecretValueInput{SecretId: aws.String(s.storedName())})
	if err != nil {
		return secret.Value{}, err
	}
	return secret.Literal(aws.ToString(out.SecretString)), nil
}

// Give sets the value that the next Create or Update stores.
func (s *Secret) Give(v secret.Value) { s.Given = v }

// Version returns the ID of the stored version, or "" if the secret does not exist.
func (s *Secret) Version(ctx context.Context) (string, error) {
	if s.version != "" {
		return s.version, nil
	}
	out, err := describeSecret(ctx, s.In, s.storedName())
	if err != nil {
		return "", infra.IgnoreMissing(err)
	}
	for version, stages := range out.VersionIdsToStages {
		if slices.Contains(stages, "AWSCURRENT") {
			return version, nil
		}
	}
	return "unknown", nil
}

func describeSecret(ctx context.Context, c *mark.Cluster, stored string) (*sm.DescribeSecretOutput, error) {
	return c.Clients.Secrets.DescribeSecret(ctx, &sm.DescribeSecretInput{SecretId: aws.String(stored)})
}

// ownSecretTags returns the tags of a secret, or an error if it does not belong to the cluster.
func ownSecretTags(c *mark.Cluster, stored *string, tags []types.Tag) (map[string]string, error) {
	have := mark.TagMap(tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
	if have[mark.ClusterTag] != c.ID {
		return nil, infra.Foreign("secretsmanager:DescribeSecret", "secret "+aws.ToString(stored), "it does not carry the tag "+mark.ClusterTag)
	}
	return have, nil
}

// ListSecrets returns the secrets with the cluster's name prefix and tag.
func ListSecrets(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	p := sm.NewListSecretsPaginator(c.Clients.Secrets, &sm.ListSecretsInput{
		Filters: []types.Filter{{Key: types.FilterNameStringTypeName, Values: []string{secretPrefix(c.ID)}}},
	})
	all, err := mark.Pages(ctx, p, func(o *sm.ListSecretsOutput) []types.SecretListEntry { return o.SecretList })
	var out []resource.Found
	for _, s := range all {
		tags := mark.TagMap(s.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
		if strings.HasPrefix(aws.ToString(s.Name), secretPrefix(c.ID)) && tags[mark.ClusterTag] == c.ID && s.DeletedDate == nil {
			out = append(out, c.Found(mark.KindSecret, infra.Observed{Identity: aws.ToString(s.Name), Marks: tags}))
		}
	}
	return out, err
}

func smTags(tags map[string]string) []types.Tag {
	return mark.TagList(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} })
}
