package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Options configures clients.
type Options struct {
	// Region is the region. If it is empty, the environment's or the profile's is used.
	Region string
	// Profile is a profile of the shared AWS configuration. If it is empty, the environment's or
	// the default profile is used.
	Profile string
	// Endpoint overrides Amazon's endpoint URLs, for private endpoints and tests. If it is empty,
	// AWS_ENDPOINT_URL applies.
	Endpoint string
	// Gate is passed before every modifying call. Nil permits all calls.
	Gate *resource.Gate
	// Log receives one debug message per call. Nil disables it.
	Log *slog.Logger
}

// Open returns the clients of one region. It makes no API calls; credentials are loaded at the
// first call.
func Open(ctx context.Context, o Options) (Clients, error) {
	load := []func(*config.LoadOptions) error{config.WithAppID("det-deploy"), config.WithHTTPClient(httpClient()), config.WithLogger(logging.Nop{})}
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if o.Profile != "" {
		load = append(load, config.WithSharedConfigProfile(o.Profile))
	}
	if o.Endpoint != "" {
		load = append(load, config.WithBaseEndpoint(o.Endpoint))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return Clients{}, configError(err, o.Profile)
	}
	if cfg.Region == "" {
		return Clients{}, &cloud.Error{Kind: cloud.Invalid, Op: "aws", Fix: fixRegion, Err: errors.New("no region is set")}
	}
	if cfg.RetryMaxAttempts == 0 { // neither in the environment nor in the profile
		cfg.RetryMaxAttempts = Attempts
	}
	cfg.RetryMode = cmp.Or(cfg.RetryMode, aws.RetryModeAdaptive)
	return New(cfg, o), nil
}

// answerLimit is the timeout for the response to a request that was sent in full. Most responses
// take a second, RunInstances may take thirty. Without a limit, a dead connection would block the
// caller until its context is done.
const answerLimit = 2 * time.Minute

func httpClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = answerLimit })
}

// New returns clients for a configuration. It ignores Region and Endpoint of the options, and uses
// Profile only in advice.
func New(cfg aws.Config, o Options) Clients {
	table := Table()
	i := interceptor{gate: o.Gate, log: o.Log, calls: table.Calls.Index(), table: table, region: cfg.Region, profile: o.Profile}
	if i.log == nil {
		i.log = slog.New(slog.DiscardHandler)
	}
	cfg = cfg.Copy()
	cfg.Logger = logging.Nop{} // the interceptor logs the calls
	cfg.APIOptions = append(slices.Clone(cfg.APIOptions), i.addMiddleware)
	if cfg.Credentials != nil {
		cfg.Credentials = checkedCredentials{cfg.Credentials}
	}
	// Virtual-hosted bucket names resolve at Amazon only; other endpoints use path-style URLs.
	private := cfg.BaseEndpoint != nil
	return Clients{
		Region:  cfg.Region,
		EC2:     newEC2Edge(ec2.NewFromConfig(cfg)),
		IAM:     newIAMEdge(iam.NewFromConfig(cfg)),
		STS:     newSTSEdge(sts.NewFromConfig(cfg)),
		S3:      newS3Edge(s3.NewFromConfig(cfg, func(so *s3.Options) { so.UsePathStyle = so.UsePathStyle || private })),
		Secrets: newSecretsEdge(secretsmanager.NewFromConfig(cfg)),
		SSM:     newSSMEdge(ssm.NewFromConfig(cfg)),
		Quotas:  newQuotasEdge(servicequotas.NewFromConfig(cfg)),
		Logs:    newLogsEdge(cloudwatchlogs.NewFromConfig(cfg)),
		Metrics: newMetricsEdge(cloudwatch.NewFromConfig(cfg)),
	}
}

// configError returns the error for an AWS configuration that cannot be loaded.
func configError(err error, profile string) error {
	fix := "correct the AWS configuration files and the AWS_* environment variables"
	if _, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		fix = "choose an existing profile with --profile or AWS_PROFILE"
	}
	if _, ok := errors.AsType[config.AssumeRoleTokenProviderNotSetError](err); ok {
		fix = fmt.Sprintf(fixMFA, profileFlag(profile))
	}
	return &cloud.Error{Kind: cloud.Invalid, Op: "aws", Fix: fix, Err: fmt.Errorf("read the AWS configuration: %w", err)}
}
