package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// SecretSource resolves aws-sm: references.
type SecretSource struct{ Secrets api.Secrets }

var _ secret.Source = SecretSource{}

// Secret implements secret.Source.
func (s SecretSource) Secret(ctx context.Context, ref secret.Ref) (string, error) {
	out, err := s.Secrets.GetSecretValue(ctx, &sm.GetSecretValueInput{SecretId: aws.String(ref.Name)})
	if err != nil {
		return "", err
	}
	text := aws.ToString(out.SecretString)
	if ref.Key == "" {
		return text, nil
	}
	var entries map[string]string
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return "", fmt.Errorf("read entry %s of secret %s: it is not a JSON object of strings", ref.Key, ref.Name)
	}
	return entries[ref.Key], nil
}
