package mark

// The kinds of a cluster's objects in the inventory.
const (
	KindLogGroup    = "log-group"
	KindSecret      = "secret"
	KindBucket      = "bucket"
	KindSnapshot    = "snapshot"
	KindVolume      = "volume"
	KindRole        = "role"
	KindProfile     = "instance-profile"
	KindVPC         = "vpc"
	KindGateway     = "internet-gateway"
	KindSubnet      = "subnet"
	KindGroup       = "security-group"
	KindRoutes      = "route-table"
	KindEndpoint    = "vpc-endpoint"
	KindRules       = "security-rules"
	KindAddress     = "address"
	KindInterface   = "network-interface"
	KindAgent       = "agent"
	KindSpotRequest = "spot-request"
	KindInstance    = "instance"
	KindSpotRole    = "service-linked-role"
	KindAssociation = "address-association"
	KindAttachment  = "volume-attachment"
	kindPrefix      = "aws/"
	retainData      = "holds the checkpoints"
	retainVolume    = "holds the database"
	retainBackup    = "holds a backup of the database"
	retainOpensData = "required by the cluster's data"
	retainMayOpen   = "may be required by existing data: the cluster's settings cannot be read"
	retainLogs      = "log retention is enabled"
)

// ResourceID returns the ID of a resource in plans.
func ResourceID(kind, name string) string { return kindPrefix + kind + "/" + name }
