package api

import (
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

// Options says whose clients are wanted, and what stands before their calls.
type Options struct {
	// Region is where; empty means the environment's or the profile's.
	Region string
	// Profile is a section of the shared AWS configuration; empty means the
	// environment's, or the default one.
	Profile string
	// Endpoint replaces Amazon's addresses, for a private endpoint or a test.
	// AWS_ENDPOINT_URL does the same where it is empty.
	Endpoint string
	// Gate is asked before every call that changes something. Nil lets all pass.
	Gate *resource.Gate
	// Log gets one line a call at debug level. Nil is silence.
	Log *slog.Logger
}

// Open builds the clients of one region. It looks for credentials only when the
// first call is made, and makes none itself.
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
		return Clients{}, configError(err)
	}
	if cfg.Region == "" {
		return Clients{}, &cloud.Error{Kind: cloud.Invalid, Op: "aws", Fix: fixRegion, Err: errors.New("no region is chosen")}
	}
	return New(cfg, o), nil
}

// answerLimit is the timeout for the response to a request that was sent in full.
// Most take a second and RunInstances may take thirty; without a limit a dead
// connection would block its caller until its context ends.
const answerLimit = 2 * time.Minute

func httpClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = answerLimit })
}

// New builds clients on a configuration of the caller's own. Region, Profile and
// Endpoint of the options do not count: they are the configuration's.
func New(cfg aws.Config, o Options) Clients {
	table := Table()
	i := interceptor{gate: o.Gate, log: o.Log, calls: table.Calls.Index(), table: table}
	if i.log == nil {
		i.log = slog.New(slog.DiscardHandler)
	}
	cfg = cfg.Copy()
	cfg.Logger = logging.Nop{} // what is worth a line has one at the edge
	cfg.APIOptions = append(slices.Clone(cfg.APIOptions), i.addMiddleware)
	if cfg.Credentials != nil {
		cfg.Credentials = checkedCredentials{cfg.Credentials}
	}
	// Buckets become host names only at Amazon; elsewhere no such name resolves.
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

// configError reports an AWS configuration that cannot be read.
func configError(err error) error {
	fix := "mend the AWS configuration files and the variables that begin with AWS_"
	if _, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		fix = "choose a profile that exists, with --profile or AWS_PROFILE"
	}
	return &cloud.Error{Kind: cloud.Invalid, Op: "aws", Fix: fix, Err: fmt.Errorf("read the AWS configuration: %w", err)}
}
