package policy

// useKeys allows a caller that launches instances to use the customer managed KMS keys of their
// volumes. EC2 uses the keys on the caller's behalf, for volumes only.
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
