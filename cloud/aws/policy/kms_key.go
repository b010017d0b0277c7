package policy

// useKeys is what a caller that launches machines needs of the KMS keys that their disks
// are encrypted with, where those are not Amazon's own. EC2 uses them on the launcher's
// behalf, and only for disks.
func (s Scope) useKeys() []Statement {
	if len(s.Keys) == 0 {
		return nil
	}
	via := "ec2." + orDefault(s.Region, "*") + "." + s.serviceDomain()
	return []Statement{
		allowActions(
			"UseDiskKeys", s.Keys, "kms:DescribeKey", "kms:Decrypt", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo",
		).withCondition("StringLike", "kms:ViaService", via),
		allowActions("GrantDiskKeys", s.Keys, "kms:CreateGrant").withCondition("Bool", "kms:GrantIsForAWSResource", "true"),
	}
}
