package aws_test

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/installer/event"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

func TestDownReportsObjectsInSubnet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		foreign := s.launchForeign(t)

		err := s.DownWhileHeld(t)
		want := "aws ec2 terminate-instances --region us-west-2 --instance-ids " + foreign + "; then run the same command again"
		if !strings.Contains(err.Error(), "in use by eni-") || !strings.Contains(err.Error(), "("+foreign+")") || event.Hint(err) != want {
			t.Errorf("got %v with the hint %q, want what holds it", err, event.Hint(err))
		}
		for _, left := range s.world.Live() {
			if kind, _, _ := strings.Cut(left, " "); kind == "role" || kind == "instance-profile" || kind == "address" || kind == "secret" {
				t.Errorf("%s is left, which nothing holds", left)
			}
		}

		_, err = s.clients(nil).EC2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{foreign}})
		must(t, err)
		_, err = s.Down(t.Context(), true)
		must(t, err)
		s.wantLeft(t)
	})
}

// launchForeign launches a machine that does not belong to the cluster in its subnet.
func (s *stage) launchForeign(t *testing.T) (id string) {
	t.Helper()
	api := s.clients(nil).EC2
	ours, err := api.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	must(t, err)
	master := ours.Reservations[0].Instances[0]
	out, err := api.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: master.ImageId, SubnetId: master.SubnetId, InstanceType: types.InstanceTypeM5Large, MinCount: sdk.Int32(1), MaxCount: sdk.Int32(1),
	})
	must(t, err)
	return sdk.ToString(out.Instances[0].InstanceId)
}
