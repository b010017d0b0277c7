package fleet

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/cloud"
)

// Console implements cloud.Console. Nitro instances provide their latest output. For others, EC2
// returns the output that they posted last, a few minutes after boot.
func (f *Fleet) Console(ctx context.Context, id cloud.InstanceID) (string, error) {
	in := &ec2.GetConsoleOutputInput{InstanceId: aws.String(string(id)), Latest: aws.Bool(true)}
	out, err := f.ec2.GetConsoleOutput(ctx, in)
	if kind := cloud.KindOf(err); kind == cloud.Invalid || kind == cloud.NoCapacity { // "unsupported": an instance type on Xen
		in.Latest = nil
		out, err = f.ec2.GetConsoleOutput(ctx, in)
	}
	if err != nil {
		return "", err
	}
	text, err := base64.StdEncoding.DecodeString(aws.ToString(out.Output))
	if err != nil {
		return "", fmt.Errorf("read the console output of %s: %w", id, err)
	}
	return cloud.TailConsole(string(text)), nil
}
