package attest

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/cloud"
)

// Profiles looks up the role of an instance profile.
type Profiles interface {
	GetInstanceProfile(ctx context.Context, in *iam.GetInstanceProfileInput, o ...func(*iam.Options)) (*iam.GetInstanceProfileOutput, error)
}

// profile matches the ARN of an instance profile, whose name may have a path.
var profile = regexp.MustCompile(`^arn:aws[a-z-]*:iam::(\d{12}):instance-profile/(?:.+/)?([\w+=,.@-]+)$`)

// CheckProfile returns an error if profileARN is not the ARN of an instance profile. It makes no
// API calls.
func CheckProfile(profileARN string) error {
	if profile.MatchString(profileARN) {
		return nil
	}
	return &cloud.Error{
		Kind: cloud.Invalid, Op: "find the agents' role",
		Fix: "set provider.iam_instance_profile_arn; agents prove their identity with the role",
		Err: fmt.Errorf("%q is not the ARN of an instance profile", profileARN),
	}
}

// RoleOf returns the role of instances with an instance profile. If the caller lacks the permission
// to read the profile, it assumes that the role has the same name, as in profiles created by
// det-deploy or the AWS console.
func RoleOf(ctx context.Context, c Profiles, profileARN string, log *slog.Logger) (Role, error) {
	if err := CheckProfile(profileARN); err != nil {
		return Role{}, err
	}
	m := profile.FindStringSubmatch(profileARN)
	account, name := m[1], m[2]
	out, err := c.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	switch {
	case cloud.KindOf(err) == cloud.Denied:
		log.WarnContext(ctx, "cannot read the instance profile without iam:GetInstanceProfile; assuming that the agents' role has the same name", "profile", name)
		return Role{Account: account, Name: name}, nil
	case err != nil:
		return Role{}, err
	case len(out.InstanceProfile.Roles) == 0:
		return Role{}, &cloud.Error{
			Kind: cloud.Invalid, Op: "find the agents' role", Fix: "add a role to the instance profile " + name,
			Err: fmt.Errorf("%s has no role, so its instances cannot prove their identity", profileARN),
		}
	}
	role := out.InstanceProfile.Roles[0]
	if parts := strings.Split(aws.ToString(role.Arn), ":"); len(parts) > 4 && parts[4] != "" {
		account = parts[4]
	}
	return Role{Account: account, Name: aws.ToString(role.RoleName)}, nil
}
