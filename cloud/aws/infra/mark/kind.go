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
	retainOpensData = "opens data that is kept"
	retainMayOpen   = "may open data of yours: what the cluster was to be cannot be read"
	retainLogs      = "the logs are to be kept"
)

// ResourceID returns the ID of a resource in plans.
func ResourceID(kind, name string) string { return kindPrefix + kind + "/" + name }
