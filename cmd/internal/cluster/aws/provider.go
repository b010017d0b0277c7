package aws

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/clouds"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	awswire "github.com/det-deploy/det-deploy/cmd/internal/wire/aws"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// provider implements clouds.Provider for AWS with the flags of one command.
type provider struct {
	Profile    string
	AllRegions bool
}

var _ clouds.Provider = (*provider)(nil)

func newWords() clouds.Words {
	return clouds.Words{
		Regions: awswire.KnownRegions(),
		Name:    name, On: "AWS", Account: "account", List: "list --all-regions", ListRegion: "the environment's",
		Master: func(string) string { return "master" },
		Console: func(in *wire.CloudCluster, id string) string {
			return "aws ec2 get-console-output --latest --output text --region " + in.Place() + " --instance-id " + id
		},
	}
}

// Words returns the terms used for AWS.
func (*provider) Words() clouds.Words { return newWords() }

// Settings returns the settings that have a flag.
func (*provider) Settings() spec.Table { return spec.AWSFlags() }

// AddFlags declares the flags specific to AWS.
func (p *provider) AddFlags(v cluster.Verb, f *pflag.FlagSet) {
	f.StringVar(&p.Profile, "profile", "", "profile of the AWS configuration to use")
	if v == cluster.List {
		f.BoolVar(&p.AllRegions, "all-regions", false, "list clusters in all regions")
	}
}

// Check returns an error for conflicting flags and for an invalid region, which would become part of a
// host name.
func (p *provider) Check(region string) error {
	if p.AllRegions && region != "" {
		return usage.Errorf("use either --all-regions or --region")
	}
	return checkRegion(region)
}

func checkRegion(region string) error {
	if region == "" || spec.ValidRegion(region) {
		return nil
	}
	return usage.Errorf("--region: must be an AWS region such as us-west-2 (is %q)", region)
}

func (p *provider) newRequest(q wire.CloudRequest) awswire.Request {
	return awswire.Request{CloudRequest: q, Profile: p.Profile}
}

// Open opens a cluster.
func (p *provider) Open(ctx context.Context, s *term.Streams, q wire.CloudRequest) (*wire.CloudCluster, error) {
	return awswire.Open(ctx, s, p.newRequest(q))
}

// OpenRemembered opens a cluster as it is recorded.
func (p *provider) OpenRemembered(ctx context.Context, s *term.Streams, q wire.CloudRequest) (*wire.CloudCluster, error) {
	return awswire.OpenRemembered(ctx, s, p.newRequest(q))
}

// Known lists the clusters of the account.
func (p *provider) Known(ctx context.Context, _ string) ([]wire.ListedCluster, error) {
	return awswire.Known(ctx, p.Profile)
}

// List lists the clusters of one region, or of all regions with --all-regions.
func (p *provider) List(ctx context.Context, region string) (all []wire.ListedCluster, place string, err error) {
	if region == "" && !p.AllRegions {
		if region, err = awswire.DefaultRegion(ctx, p.Profile); err != nil {
			return nil, "", err
		}
	}
	all, err = awswire.List(ctx, region, p.Profile)
	return all, region, err
}
