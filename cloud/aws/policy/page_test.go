package policy_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	"github.com/det-deploy/det-deploy/test/golden"
)

const preface = `# Permissions on AWS

Generated from ` + "`cloud/aws/api` and `cloud/aws/policy`; `make golden`" + ` rewrites it.

Three callers need permissions: who runs ` + "`det-deploy aws`" + `, the master's machine, and the agents' machines.
` + "`det-deploy aws policy`" + ` prints a document for each; the roles of master and agents get theirs from ` + "`aws up`" + `, unless
they are given roles that exist already. The caller's permissions are two documents, because one would be
longer than the 6,144 characters that Amazon allows.

What can be limited to one cluster is: objects of EC2 by the tag ` + "`det-deploy-cluster`" + `, which the call that makes
an object puts on it; roles and instance profiles by the path ` + "`/det-deploy/<cluster>/`" + `; buckets, secrets and log
groups by their names. Looking cannot be limited, in EC2. The master may terminate only machines that also carry
the tag ` + "`det-deploy-pool`" + `: its own does not. It may hand on the agents' role and no other. The agents have no access
to the control bucket. Tasks can do whatever their agent's machine may.

A user who may write policies into roles and hand those roles to machines can do whatever the account allows,
through such a machine. Where that is too much, set a permissions boundary for roles under ` + "`/det-deploy/`" + ` in the
account.

How much of this has been tried: that each caller may make its own calls and no others, for EC2, IAM, Secrets
Manager, logs and STS, with real signatures against an emulator that judges actions and the role that is handed on.
**Unexercised** are Session Manager, conditions (the tags), the ARNs of EC2, and S3: their documents are only compared with what was
written down.
`

const keysText = `
Where disks are encrypted with a KMS key of your own (the account's default for EBS, or that of an image or snapshot
that you bring), the principal that launches a machine needs ` + "`kms:CreateGrant`, `kms:Decrypt`, `kms:DescribeKey`,\n`kms:GenerateDataKeyWithoutPlaintext`, `kms:ReEncryptFrom` and `kms:ReEncryptTo`" + ` on it: caller and master.
Without them EC2 grants a machine and ends it with ` + "`Client.InternalError`" + `. ` + "`--kms-key`" + ` puts them into the documents; the
account's default key is found by ` + "`aws up`" + `, which puts it into the master's role, and ` + "`aws doctor`" + ` simulates it for the
caller and for a role that you bring. The key's own policy, which must let the account use it, is not looked at.
`

func pageText() string {
	var b strings.Builder
	b.WriteString(preface)
	b.WriteString("\n## Calls, and what they need\n\n| call | actions | made by |\n| --- | --- | --- |\n")
	for _, c := range api.Calls() {
		if len(policy.CalledBy(c.Op)) == 0 {
			continue
		}
		var who []string
		for _, w := range policy.CalledBy(c.Op) {
			who = append(who, string(w))
		}
		actions := "none"
		if len(c.Permissions) > 0 {
			actions = "`" + strings.Join(c.Permissions, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.Op, actions, strings.Join(who, ", "))
	}
	b.WriteString("\nThe master and the agents do without `" + strings.Join(policy.Scope{}.Optional(), "`, `") + "`: with\n`ec2:GetConsoleOutput` a machine that does not come up shows why; the `ssm` actions let you in by Session Manager. With a\nrole or an instance profile of your own for agents, the master needs `iam:GetInstanceProfile` to recognize them.\n")
	b.WriteString(keysText)
	b.WriteString("\n## What no call of det-deploy's needs\n\n| action | granted to | why |\n| --- | --- | --- |\n")
	for _, e := range policy.Extras() {
		var who []string
		for _, w := range e.To {
			who = append(who, string(w))
		}
		slices.Sort(who)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Action, strings.Join(who, ", "), e.Why)
	}
	return b.String()
}

func TestPolicyPageIsFresh(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "..", "docs", "reference", "aws-permissions.md")
	got := pageText()
	golden.Compare(t, file, got)
}
