package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Secrets is the part of the Secrets Manager API that det-deploy uses.
type Secrets interface {
	// Read-only calls.
	DescribeSecret(ctx context.Context, in *secretsmanager.DescribeSecretInput, o ...func(*secretsmanager.Options)) (*secretsmanager.DescribeSecretOutput, error)
	ListSecrets(ctx context.Context, in *secretsmanager.ListSecretsInput, o ...func(*secretsmanager.Options)) (*secretsmanager.ListSecretsOutput, error)
	GetSecretValue(ctx context.Context, in *secretsmanager.GetSecretValueInput, o ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error)

	// Modifying calls, which pass the gate.
	CreateSecret(ctx context.Context, in *secretsmanager.CreateSecretInput, o ...func(*secretsmanager.Options)) (*secretsmanager.CreateSecretOutput, error)
	PutSecretValue(ctx context.Context, in *secretsmanager.PutSecretValueInput, o ...func(*secretsmanager.Options)) (*secretsmanager.PutSecretValueOutput, error)
	DeleteSecret(ctx context.Context, in *secretsmanager.DeleteSecretInput, o ...func(*secretsmanager.Options)) (*secretsmanager.DeleteSecretOutput, error)
	RestoreSecret(ctx context.Context, in *secretsmanager.RestoreSecretInput, o ...func(*secretsmanager.Options)) (*secretsmanager.RestoreSecretOutput, error)
	TagResource(ctx context.Context, in *secretsmanager.TagResourceInput, o ...func(*secretsmanager.Options)) (*secretsmanager.TagResourceOutput, error)
}

var _ Secrets = (*secretsmanager.Client)(nil)

func secretsCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("secretsmanager:DescribeSecret"),
		edge.Reads("secretsmanager:ListSecrets"),
		edge.Reads("secretsmanager:GetSecretValue"),
		edge.Writes("secretsmanager:CreateSecret", "secretsmanager:CreateSecret", "secretsmanager:TagResource"),
		edge.Writes("secretsmanager:PutSecretValue"),
		edge.Writes("secretsmanager:DeleteSecret"),
		edge.Writes("secretsmanager:RestoreSecret"),
		edge.Writes("secretsmanager:TagResource"),
	}
}
