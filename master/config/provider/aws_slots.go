package provider

import "strings"

// AWSSlots returns the number of GPUs of an instance type, which are its slots. ok is false for
// unknown types.
func AWSSlots(instanceType string) (slots int, ok bool) {
	family, size, dotted := strings.Cut(instanceType, ".")
	if !dotted {
		return 0, false
	}
	for _, row := range awsFamilies() {
		if row.family != family {
			continue
		}
		for known := range strings.FieldsSeq(row.sizes) {
			if known == size {
				return row.slots, true
			}
		}
	}
	return 0, false
}

type awsFamily struct {
	family string
	slots  int
	sizes  string
}

// awsFamilies lists the sizes of each family by number of GPUs, from the documentation of AWS.
func awsFamilies() []awsFamily {
	return []awsFamily{
		{"t2", 0, "medium large xlarge 2xlarge"},
		{"t3", 0, "nano micro small medium large xlarge 2xlarge"},
		{"c4", 0, "large xlarge 2xlarge 4xlarge 8xlarge"},
		{"c5", 0, "large xlarge 2xlarge 4xlarge 9xlarge 12xlarge 18xlarge 24xlarge metal"},
		{"c5d", 0, "large xlarge 2xlarge 4xlarge 9xlarge 12xlarge 18xlarge 24xlarge metal"},
		{"c5n", 0, "large xlarge 2xlarge 4xlarge 9xlarge 18xlarge metal"},
		{"m4", 0, "large xlarge 2xlarge 4xlarge 10xlarge 16xlarge"},
		{"m5", 0, "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge metal"},
		{"m5d", 0, "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge metal"},
		{"m5dn", 0, "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge metal"},
		{"m5n", 0, "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge metal"},
		{"m5zn", 0, "large xlarge 2xlarge 3xlarge 6xlarge 12xlarge metal"},
		{"m6i", 0, "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge metal"},
		{"g4dn", 1, "xlarge 2xlarge 4xlarge 8xlarge 16xlarge"},
		{"g4dn", 4, "12xlarge"},
		{"g4dn", 8, "metal"},
		{"g5", 1, "xlarge 2xlarge 4xlarge 8xlarge 16xlarge"},
		{"g5", 4, "12xlarge 24xlarge"},
		{"g5", 8, "48xlarge"},
		{"g6", 1, "xlarge 2xlarge 4xlarge 8xlarge 16xlarge"},
		{"g6", 4, "12xlarge 24xlarge"},
		{"g6", 8, "48xlarge"},
		{"p2", 1, "xlarge"},
		{"p2", 8, "8xlarge"},
		{"p2", 16, "16xlarge"},
		{"p3", 1, "2xlarge"},
		{"p3", 4, "8xlarge"},
		{"p3", 8, "16xlarge"},
		{"p3dn", 8, "24xlarge"},
		{"p4d", 8, "24xlarge"},
		{"p4de", 8, "24xlarge"},
		{"p5", 8, "48xlarge"},
		{"p5e", 8, "48xlarge"},
	}
}
