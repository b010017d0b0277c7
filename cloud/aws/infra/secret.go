package infra

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// valuePath is where drift tells that a given value is not the stored one. What
// either is, it never says.
const valuePath = "value"

// Secret is kept in Secrets Manager, and nowhere else.
type Secret struct {
	In *Cluster
	// Name tells it from others: "admin-password". It is stored as
	// det-deploy/<cluster>/<name>.
	Name string
	// Given is the user's value. A stored one that differs is replaced.
	Given secret.Value
	// Generate makes the value where none is given. It is asked once: a stored
	// value stays.
	Generate func() (secret.Value, error)
	// OpensData keeps it as long as the data that it opens.
	OpensData bool

	learned
}

var _ resource.Updater = (*Secret)(nil)

// SecretName is how a secret of a cluster is stored.
func SecretName(cluster, name string) string { return secretPrefix(cluster) + name }

func secretPrefix(cluster string) string { return "det-deploy/" + cluster + "/" }

// ID is "aws/secret/" and its name.
func (s *Secret) ID() string { return resourceID(KindSecret, s.Name) }

// Kind is KindSecret.
func (*Secret) Kind() string { return KindSecret }

// Needs nothing.
func (*Secret) Needs() []string { return nil }

func (s *Secret) stored() string { return SecretName(s.In.ID, s.Name) }

// tags are all but the digest of a given value, which is new each time.
func (s *Secret) tags() map[string]string {
	out := s.In.marks(s.Name, "")
	out[RetainTag] = retainNo
	if s.OpensData {
		out[RetainTag] = retainYes
		if s.In.Outside != "" {
			out[OpensTag] = s.In.Outside
		}
	}
	return out
}

// Find looks at it, and not at its value. One that is scheduled for deletion is
// taken for gone: Create brings it back.
func (s *Secret) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	live, err := s.In.secret(ctx, s.stored())
	if err != nil || live.DeletedDate != nil {
		return resource.Found{}, nil, gone(err)
	}
	tags, err := s.In.secretTags(live.Name, live.Tags)
	if err != nil {
		return resource.Found{}, nil, err
	}
	s.id = s.stored()
	return s.In.found(KindSecret, sight{id: s.id, tags: tags}), s.drift(tags), nil
}

func (s *Secret) drift(tags map[string]string) []resource.Drift {
	out := tagDrift(tags, s.tags())
	if !s.Given.IsZero() && !digestMatches(tags[DigestTag], s.stored(), s.Given.Reveal()) {
		out = append(out, resource.Drift{Path: valuePath, Have: other, Want: "the given one"})
	}
	return out
}

// Create stores it, or brings it back with the value that it had.
func (s *Secret) Create(ctx context.Context) error {
	live, err := s.In.secret(ctx, s.stored())
	switch {
	case cloud.KindOf(err) == cloud.NotFound:
		return s.store(ctx)
	case err != nil:
		return err
	}
	s.id = s.stored()
	if live.DeletedDate != nil {
		if _, err := s.In.Clients.Secrets.RestoreSecret(ctx, &sm.RestoreSecretInput{SecretId: aws.String(s.id)}); err != nil {
			return err
		}
	}
	tags, err := s.In.secretTags(live.Name, live.Tags)
	if err != nil {
		return err
	}
	return s.Update(ctx, s.drift(tags))
}

func (s *Secret) store(ctx context.Context) error {
	value, tags, err := s.value()
	if err != nil {
		return err
	}
	// A secret that was removed a moment ago still stands in the way.
	err = s.In.persist(ctx, s.ID(), toAppear, cloud.Conflict, func() error {
		_, err := s.In.Clients.Secrets.CreateSecret(ctx, &sm.CreateSecretInput{
			Name: aws.String(s.stored()), SecretString: aws.String(value.Reveal()),
			Description: aws.String("det-deploy cluster " + s.In.ID + ": " + s.Name), Tags: smTags(tags),
		})
		if cloud.KindOf(err) == cloud.Conflict {
			if found, _, findErr := s.Find(ctx); findErr != nil || found.Exists() {
				return findErr // stored by an earlier call whose reply was lost
			}
		}
		return err
	})
	if err == nil {
		s.id = s.stored()
	}
	return err
}

func (s *Secret) value() (secret.Value, map[string]string, error) {
	tags := s.tags()
	if s.Given.IsZero() {
		v, err := s.Generate()
		return v, tags, err
	}
	tags[DigestTag] = digest(s.stored(), s.Given.Reveal())
	return s.Given, tags, nil
}

// Update changes tags and stores the given value. The digest goes last: without
// it the value is stored again.
func (s *Secret) Update(ctx context.Context, drift []resource.Drift) error {
	tags := tagged(drift)
	for _, d := range drift {
		if d.Path != valuePath {
			continue
		}
		tags[DigestTag] = digest(s.stored(), s.Given.Reveal())
		_, err := s.In.Clients.Secrets.PutSecretValue(ctx, &sm.PutSecretValueInput{
			SecretId: aws.String(s.id), SecretString: aws.String(s.Given.Reveal()),
		})
		if err != nil {
			return err
		}
	}
	if len(tags) == 0 {
		return nil
	}
	_, err := s.In.Clients.Secrets.TagResource(ctx, &sm.TagResourceInput{SecretId: aws.String(s.id), Tags: smTags(tags)})
	return err
}

// Delete removes it for good, so that its name is free.
func (s *Secret) Delete(ctx context.Context) error { return s.In.deleteSecret(ctx, s.id) }

func (c *Cluster) deleteSecret(ctx context.Context, stored string) error {
	_, err := c.Clients.Secrets.DeleteSecret(ctx, &sm.DeleteSecretInput{
		SecretId: aws.String(stored), ForceDeleteWithoutRecovery: aws.Bool(true),
	})
	return gone(err)
}

// Read returns the stored value. It is for whoever needs it while acting; plans
// have no use for it.
func (s *Secret) Read(ctx context.Context) (secret.Value, error) {
	out, err := s.In.Clients.Secrets.GetSecretValue(ctx, &sm.GetSecretValueInput{SecretId: aws.String(s.stored())})
	if err != nil {
		return secret.Value{}, err
	}
	return secret.Literal(aws.ToString(out.SecretString)), nil
}

func (c *Cluster) secret(ctx context.Context, stored string) (*sm.DescribeSecretOutput, error) {
	return c.Clients.Secrets.DescribeSecret(ctx, &sm.DescribeSecretInput{SecretId: aws.String(stored)})
}

func (c *Cluster) secretTags(stored *string, tags []types.Tag) (map[string]string, error) {
	have := tagMap(tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
	if have[ClusterTag] != c.ID {
		return nil, foreign("secretsmanager:DescribeSecret", "secret "+aws.ToString(stored), "it does not carry the tag "+ClusterTag)
	}
	return have, nil
}

// secrets lists what is under the cluster's prefix and carries its tag.
func secrets(ctx context.Context, c *Cluster) ([]resource.Found, error) {
	p := sm.NewListSecretsPaginator(c.Clients.Secrets, &sm.ListSecretsInput{
		Filters: []types.Filter{{Key: types.FilterNameStringTypeName, Values: []string{secretPrefix(c.ID)}}},
	})
	all, err := pages(ctx, p, func(o *sm.ListSecretsOutput) []types.SecretListEntry { return o.SecretList })
	var out []resource.Found
	for _, s := range all {
		tags := tagMap(s.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
		if strings.HasPrefix(aws.ToString(s.Name), secretPrefix(c.ID)) && tags[ClusterTag] == c.ID && s.DeletedDate == nil {
			out = append(out, c.found(KindSecret, sight{id: aws.ToString(s.Name), tags: tags}))
		}
	}
	return out, err
}

func smTags(tags map[string]string) []types.Tag {
	return tagList(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} })
}
