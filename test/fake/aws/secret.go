package awstest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
)

// vault holds the secrets of a region.
type vault struct{ secrets *table[secret] }

type secret struct {
	name, arn, kms, description string
	text                        *string
	blob                        []byte
	version                     string
	tags                        []types.Tag
	token                       string
	doomed                      *time.Time // scheduled deletion
}

func newVault(w *World) vault { return vault{secrets: &table[secret]{w: w}} }

// secretOf returns a secret by name or ARN.
func (s *site) secretOf(id *string) (*secret, error) {
	for _, v := range s.vault.secrets.all() {
		if v.doomed != nil && !s.now().Before(*v.doomed) {
			s.vault.secrets.remove(v.name)
			continue
		}
		if v.name == aws.ToString(id) || v.arn == aws.ToString(id) {
			return v, nil
		}
	}
	return nil, refuse(400, "ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
}

// usable is like secretOf, and returns an error for secrets that are scheduled for deletion.
func (s *site) usable(id *string) (*secret, error) {
	v, err := s.secretOf(id)
	if err == nil && v.doomed != nil {
		return nil, refuse(400, "InvalidRequestException", "You can't perform this operation on the secret because it was marked for deletion.")
	}
	return v, err
}

func (s *site) createSecret(in *sm.CreateSecretInput) (*sm.CreateSecretOutput, error) {
	token := aws.ToString(in.ClientRequestToken)
	if v, err := s.secretOf(in.Name); err == nil {
		switch {
		case v.doomed != nil:
			return nil, refuse(400, "InvalidRequestException", "You can't create this secret because a secret with this name is already scheduled for deletion.")
		case token != "" && v.token == token && aws.ToString(v.text) == aws.ToString(in.SecretString):
			return &sm.CreateSecretOutput{ARN: &v.arn, Name: &v.name, VersionId: &v.version}, nil
		}
		return nil, refuse(400, "ResourceExistsException", "The operation failed because the secret "+v.name+" already exists.")
	}
	name := aws.ToString(in.Name)
	if s.vault.secrets.wasDeletedWithin(name, s.opt.Reuse) {
		return nil, refuse(400, "InvalidRequestException", "You can't create this secret because a secret with this name is already scheduled for deletion.")
	}
	s.serial++
	v := s.vault.secrets.add(name, secret{
		name: name, arn: s.arn("secretsmanager", "secret:"+name+"-"+number(100000+s.serial)), kms: aws.ToString(in.KmsKeyId), description: aws.ToString(in.Description),
		text: in.SecretString, blob: in.SecretBinary, version: cmp.Or(token, "version-"+number(s.serial)), token: token, tags: slices.Clone(in.Tags),
	})
	return &sm.CreateSecretOutput{ARN: &v.arn, Name: &v.name, VersionId: &v.version}, nil
}

func (s *site) putSecretValue(in *sm.PutSecretValueInput) (*sm.PutSecretValueOutput, error) {
	v, err := s.usable(in.SecretId)
	if err != nil {
		return nil, err
	}
	s.serial++
	v.text, v.blob, v.version = in.SecretString, in.SecretBinary, cmp.Or(aws.ToString(in.ClientRequestToken), "version-"+number(s.serial))
	return &sm.PutSecretValueOutput{ARN: &v.arn, Name: &v.name, VersionId: &v.version}, nil
}

func (s *site) getSecretValue(in *sm.GetSecretValueInput) (*sm.GetSecretValueOutput, error) {
	v, err := s.usable(in.SecretId)
	if err != nil {
		return nil, err
	}
	return &sm.GetSecretValueOutput{ARN: &v.arn, Name: &v.name, VersionId: &v.version, SecretString: v.text, SecretBinary: v.blob, VersionStages: []string{"AWSCURRENT"}}, nil
}

func (s *site) describeSecret(in *sm.DescribeSecretInput) (*sm.DescribeSecretOutput, error) {
	v, err := s.secretOf(in.SecretId)
	if err != nil {
		return nil, err
	}
	out := &sm.DescribeSecretOutput{ARN: &v.arn, Name: &v.name, Description: &v.description, Tags: v.tags, VersionIdsToStages: map[string][]string{v.version: {"AWSCURRENT"}}}
	if v.doomed != nil {
		out.DeletedDate = aws.Time(s.now())
	}
	return out, nil
}

// listSecrets omits secrets that are scheduled for deletion unless the request includes them.
func (s *site) listSecrets(in *sm.ListSecretsInput) (*sm.ListSecretsOutput, error) {
	var all []types.SecretListEntry
	for _, v := range s.vault.secrets.listed() {
		if v.doomed != nil && (!aws.ToBool(in.IncludePlannedDeletion) || !s.now().Before(*v.doomed)) {
			continue
		}
		if !slices.ContainsFunc(in.Filters, func(f types.Filter) bool { return !v.passes(f) }) {
			e := types.SecretListEntry{ARN: &v.arn, Name: &v.name, Tags: v.tags}
			if v.doomed != nil {
				e.DeletedDate = aws.Time(s.now())
			}
			all = append(all, e)
		}
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &sm.ListSecretsOutput{SecretList: some, NextToken: next}, err
}

// passes implements the filters of Secrets Manager: names and tags match by prefix.
func (v secret) passes(f types.Filter) bool {
	var have []string
	for _, t := range v.tags {
		switch f.Key {
		case types.FilterNameStringTypeTagKey:
			have = append(have, aws.ToString(t.Key))
		case types.FilterNameStringTypeTagValue:
			have = append(have, aws.ToString(t.Value))
		default:
		}
	}
	if f.Key == types.FilterNameStringTypeName {
		have = []string{v.name}
	}
	return slices.ContainsFunc(f.Values, func(want string) bool {
		return slices.ContainsFunc(have, func(h string) bool { return strings.HasPrefix(h, want) })
	})
}

// deleteSecret schedules the deletion after 30 days unless it is forced.
func (s *site) deleteSecret(in *sm.DeleteSecretInput) (*sm.DeleteSecretOutput, error) {
	force := aws.ToBool(in.ForceDeleteWithoutRecovery)
	if force && in.RecoveryWindowInDays != nil {
		return nil, refuse(400, "InvalidParameterException", "You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays.")
	}
	v, err := s.secretOf(in.SecretId)
	if err != nil {
		if force {
			return &sm.DeleteSecretOutput{Name: in.SecretId}, nil // a forced deletion ignores missing secrets
		}
		return nil, err
	}
	if force {
		s.vault.secrets.remove(v.name)
		return &sm.DeleteSecretOutput{ARN: &v.arn, Name: &v.name, DeletionDate: aws.Time(s.now())}, nil
	}
	if v.doomed != nil {
		return nil, refuse(400, "InvalidRequestException", "You can't perform this operation on the secret because it was already scheduled for deletion.")
	}
	days := int64(30)
	if in.RecoveryWindowInDays != nil {
		days = *in.RecoveryWindowInDays
	}
	v.doomed = aws.Time(s.now().Add(time.Duration(days) * 24 * time.Hour))
	return &sm.DeleteSecretOutput{ARN: &v.arn, Name: &v.name, DeletionDate: v.doomed}, nil
}

func (s *site) restoreSecret(in *sm.RestoreSecretInput) (*sm.RestoreSecretOutput, error) {
	v, err := s.secretOf(in.SecretId)
	if err != nil {
		return nil, err
	}
	v.doomed = nil
	return &sm.RestoreSecretOutput{ARN: &v.arn, Name: &v.name}, nil
}

func (s *site) tagSecret(in *sm.TagResourceInput) (*sm.TagResourceOutput, error) {
	v, err := s.usable(in.SecretId)
	if err != nil {
		return nil, err
	}
	for _, t := range in.Tags {
		v.tags = slices.DeleteFunc(slices.Clone(v.tags), func(o types.Tag) bool { return *o.Key == *t.Key })
		v.tags = append(v.tags, t)
	}
	return &sm.TagResourceOutput{}, nil
}
