package infra_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// byHand simulates manual changes in the AWS console.
type byHand struct {
	api.Clients
	t *testing.T
	m *memory
}

// id returns the ID of one of the cluster's objects.
func (h byHand) id(kind, name string) string {
	h.t.Helper()
	for _, f := range h.m.inventory(h.t) {
		if f.Kind == kind && f.Name == name {
			return f.ID
		}
	}
	h.t.Fatalf("there is no %s %s", kind, name)
	return ""
}

// Manual changes are detected, shown in the plan and reverted.
func TestManualChangesAreReverted(t *testing.T) {
	bucket := "det-deploy-lab-data-" + awstest.Account
	for _, tc := range []struct {
		name   string
		change func(h byHand) error
		want   string
	}{
		{"a port was opened to the world", func(h byHand) error {
			_, err := h.EC2.AuthorizeSecurityGroupIngress(h.t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
				GroupId: aws.String(h.id(mark.KindGroup, "master")),
				IpPermissions: []types.IpPermission{{
					IpProtocol: aws.String("tcp"), FromPort: aws.Int32(22), ToPort: aws.Int32(22),
					IpRanges: []types.IpRange{{CidrIp: aws.String("0.0.0.0/0"), Description: aws.String("for a moment")}},
				}},
			})
			return err
		}, "update aws/security-rules/master; ingress[22 from 0.0.0.0/0]: open → closed"},
		{"agents may not talk to each other", func(h byHand) error {
			id := h.id(mark.KindGroup, "agents")
			_, err := h.EC2.RevokeSecurityGroupIngress(h.t.Context(), &ec2.RevokeSecurityGroupIngressInput{
				GroupId:       &id,
				IpPermissions: []types.IpPermission{{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &id}}}},
			})
			return err
		}, "closed → open"},
		{"nothing may leave", func(h byHand) error {
			_, err := h.EC2.RevokeSecurityGroupEgress(h.t.Context(), &ec2.RevokeSecurityGroupEgressInput{
				GroupId:       aws.String(h.id(mark.KindGroup, "agents")),
				IpPermissions: []types.IpPermission{{IpProtocol: aws.String("-1"), IpRanges: []types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}}},
			})
			return err
		}, "update aws/security-rules/agents; egress[all]: closed → open"},
		{"the address was taken off", func(h byHand) error {
			a, err := h.EC2.DescribeAddresses(h.t.Context(), &ec2.DescribeAddressesInput{})
			must(h.t, err)
			_, err = h.EC2.DisassociateAddress(h.t.Context(), &ec2.DisassociateAddressInput{AssociationId: a.Addresses[0].AssociationId})
			return err
		}, "create aws/address-association/master"},
		{"the master was stopped", func(h byHand) error {
			_, err := h.EC2.StopInstances(h.t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{h.id(mark.KindInstance, "master")}})
			return err
		}, "update aws/instance/master; state: stopped → running"},
		{"the master's metadata was opened", func(h byHand) error {
			_, err := h.EC2.ModifyInstanceMetadataOptions(h.t.Context(), &ec2.ModifyInstanceMetadataOptionsInput{
				InstanceId: aws.String(h.id(mark.KindInstance, "master")), HttpTokens: types.HttpTokensStateOptional,
			})
			return err
		}, "update aws/instance/master; metadata-tokens: optional → required"},
		{"the master's metadata goes into containers", func(h byHand) error {
			_, err := h.EC2.ModifyInstanceMetadataOptions(h.t.Context(), &ec2.ModifyInstanceMetadataOptionsInput{
				InstanceId: aws.String(h.id(mark.KindInstance, "master")), HttpPutResponseHopLimit: aws.Int32(2),
			})
			return err
		}, "update aws/instance/master; metadata-hops: 2 → 1"},
		{"the master was put into another group", func(h byHand) error {
			_, err := h.EC2.ModifyInstanceAttribute(h.t.Context(), &ec2.ModifyInstanceAttributeInput{
				InstanceId: aws.String(h.id(mark.KindInstance, "master")), Groups: []string{h.id(mark.KindGroup, "agents")},
			})
			return err
		}, "update aws/instance/master; groups: "},
		{"the role was given more", func(h byHand) error {
			_, err := h.IAM.PutRolePolicy(h.t.Context(), &iam.PutRolePolicyInput{
				RoleName: aws.String("det-deploy-lab-agent"), PolicyName: aws.String("all"), PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[]}`),
			})
			return err
		}, "update aws/role/agent; policy[all]: present → absent"},
		{"others may take the role", func(h byHand) error {
			_, err := h.IAM.UpdateAssumeRolePolicy(h.t.Context(), &iam.UpdateAssumeRolePolicyInput{
				RoleName: aws.String("det-deploy-lab-master"), PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[]}`),
			})
			return err
		}, "update aws/role/master; trust: others → machines"},
		{"the profile was emptied", func(h byHand) error {
			_, err := h.IAM.RemoveRoleFromInstanceProfile(h.t.Context(), &iam.RemoveRoleFromInstanceProfileInput{
				RoleName: aws.String("det-deploy-lab-agent"), InstanceProfileName: aws.String("det-deploy-lab-agent"),
			})
			return err
		}, "update aws/instance-profile/agent; role:  → det-deploy-lab-agent"},
		{"the bucket was opened to the public", func(h byHand) error {
			_, err := h.S3.PutPublicAccessBlock(h.t.Context(), &s3.PutPublicAccessBlockInput{
				Bucket: &bucket, PublicAccessBlockConfiguration: &s3types.PublicAccessBlockConfiguration{},
			})
			return err
		}, "update aws/bucket/data; public-access: allowed → refused"},
		{"the bucket's policy was replaced", func(h byHand) error {
			_, err := h.S3.PutBucketPolicy(h.t.Context(), &s3.PutBucketPolicyInput{
				Bucket: &bucket, Policy: aws.String(`{"Version":"2012-10-17","Statement":[]}`),
			})
			return err
		}, "update aws/bucket/data; plain-http: allowed → refused"},
		{"the bucket's tags were taken away but for ours", func(h byHand) error {
			_, err := h.S3.PutBucketTagging(h.t.Context(), &s3.PutBucketTaggingInput{
				Bucket: &bucket, Tagging: &s3types.Tagging{TagSet: []s3types.Tag{{Key: aws.String(mark.ClusterTag), Value: aws.String("lab")}}},
			})
			return err
		}, "update aws/bucket/data; tags.Name: "},
		{"something was renamed", func(h byHand) error {
			_, err := h.EC2.CreateTags(h.t.Context(), &ec2.CreateTagsInput{
				Resources: []string{h.id(mark.KindVPC, "main")}, Tags: []types.Tag{{Key: aws.String("Name"), Value: aws.String("old, delete?")}},
			})
			return err
		}, "update aws/vpc/main; tags.Name: old, delete? → det-lab-main"},
		{"the secret was scheduled for deletion", func(h byHand) error {
			_, err := h.Secrets.DeleteSecret(h.t.Context(), &sm.DeleteSecretInput{SecretId: aws.String("det-deploy/lab/admin-password")})
			return err
		}, "create aws/secret/admin-password"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := inMemory(awstest.Options{})
				must(t, m.up(t.Context()))
				must(t, tc.change(byHand{m.clients(nil), t, m}))
				m.settleDown()
				if got := m.plan(t); len(got) != 1 || !strings.Contains(got[0], tc.want) {
					t.Errorf("got %q, want one line with %q", got, tc.want)
				}
				must(t, m.up(t.Context()))
				m.wantNothingToDo(t)
				if text, _ := m.world.Secret("det-deploy/lab/admin-password"); text != "swordfish" {
					t.Error("the secret has another value")
				}
			})
		})
	}
}
