package config

import (
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
)

// Integrations configures other systems.
type Integrations struct {
	Pachyderm Pachyderm `yaml:"pachyderm" doc:"Pachyderm"`
}

// Pachyderm configures the Pachyderm data store.
type Pachyderm struct {
	Address string `yaml:"address" doc:"Address of Pachyderm"`
}

// UICustomization configures the look of the web UI.
type UICustomization struct {
	LogoPath  string         `yaml:"logo_path" doc:"File of the logo"`
	LogoPaths *UILogoVariant `yaml:"logo_paths" doc:"Files of the logo in its variants"`
}

// UILogoVariant holds the logo for each background and shape.
type UILogoVariant struct {
	DarkHorizontal  string `yaml:"dark_horizontal" doc:"Wide, on dark"`
	DarkVertical    string `yaml:"dark_vertical" doc:"Tall, on dark"`
	LightHorizontal string `yaml:"light_horizontal" doc:"Wide, on light"`
	LightVertical   string `yaml:"light_vertical" doc:"Tall, on light"`
}

// SCIM configures user provisioning by an identity provider.
type SCIM struct {
	Enabled  bool         `yaml:"enabled" doc:"Accept SCIM"`
	Auth     document.Raw `yaml:"auth" doc:"How the provider signs in"`
	Username string       `yaml:"username" doc:"User name of the provider"`
	Password secret.Value `yaml:"password" doc:"Password of the provider"`
}

// SSO holds the settings common to all kinds of single sign-on.
type SSO struct {
	Enabled                  bool   `yaml:"enabled" doc:"Offer this sign-on"`
	Provider                 string `yaml:"provider" doc:"Name of the provider"`
	AutoProvisionUsers       bool   `yaml:"auto_provision_users" doc:"Create users at their first sign-on"`
	GroupsAttributeName      string `yaml:"groups_attribute_name" doc:"Attribute with the groups"`
	DisplayNameAttributeName string `yaml:"display_name_attribute_name" doc:"Attribute with the display name"`
	AlwaysRedirect           bool   `yaml:"always_redirect" doc:"Skip the sign-on page"`
}

// SAML configures single sign-on with SAML.
type SAML struct {
	SSO           `yaml:",inline"`
	IDPSSOURL     string `yaml:"idp_sso_url" doc:"Sign-on address of the provider"`
	IDPSSODescURL string `yaml:"idp_sso_descriptor_url" doc:"Description of the provider"`
	IDPMetaURL    string `yaml:"idp_metadata_url" doc:"Metadata of the provider"`
	IDPRecipient  string `yaml:"idp_recipient_url" doc:"Address of this cluster for the provider"`
	IDPCertPath   string `yaml:"idp_cert_path" doc:"Certificate of the provider"`
}

// OIDC configures single sign-on with OpenID Connect.
type OIDC struct {
	SSO              `yaml:",inline"`
	ClientID         string       `yaml:"client_id" doc:"Client at the provider"`
	ClientSecret     secret.Value `yaml:"client_secret" doc:"Secret of the client"`
	IDPSSOURL        string       `yaml:"idp_sso_url" doc:"Sign-on address of the provider"`
	IDPRecipientURL  string       `yaml:"idp_recipient_url" doc:"Address of this cluster for the provider"`
	AuthClaim        string       `yaml:"authentication_claim" doc:"Claim with the identity"`
	SCIMAuthAttr     string       `yaml:"scim_authentication_attribute" doc:"SCIM attribute that matches the claim"`
	ExcludeScopes    []string     `yaml:"exclude_groups_scope" doc:"Scopes not asked for"`
	AgentUIDClaim    string       `yaml:"agent_uid_attribute_name" doc:"Claim with the Unix user number"`
	AgentGIDClaim    string       `yaml:"agent_gid_attribute_name" doc:"Claim with the Unix group number"`
	AgentUserClaim   string       `yaml:"agent_user_name_attribute_name" doc:"Claim with the Unix user name"`
	AgentGroupClaim  string       `yaml:"agent_group_name_attribute_name" doc:"Claim with the Unix group name"`
	AllowedAudiences []string     `yaml:"allowed_audiences" doc:"Audiences accepted in tokens"`
}

// DetCloud holds the settings of the hosted product.
type DetCloud struct {
	LoginURL     string   `yaml:"login_url" doc:"Sign-on page"`
	OrgID        string   `yaml:"org_id" doc:"Organization"`
	ClusterID    string   `yaml:"cluster_id" doc:"Cluster"`
	SegmentKey   string   `yaml:"segment_key" doc:"Usage reports"`
	Capabilities []string `yaml:"capabilities" doc:"Subscribed features"`
}

// Internal holds settings that may change without notice.
type Internal struct {
	AuditLoggingEnabled bool              `yaml:"audit_logging_enabled" doc:"Log each call with its user"`
	ExternalSessions    *ExternalSessions `yaml:"external_sessions" doc:"Sessions made by another system"`
	ProxiedServers      []ProxiedServer   `yaml:"proxied_servers" doc:"Further servers behind the master"`
}

// ExternalSessions configures sessions created by another system.
type ExternalSessions struct {
	LoginURI  string       `yaml:"login_uri" doc:"Sign-on page"`
	LogoutURI string       `yaml:"logout_uri" doc:"Sign-off page"`
	InviteURI string       `yaml:"invite_uri" doc:"Invitation page"`
	JWTKey    secret.Value `yaml:"jwt_key" doc:"Key that signs sessions"`
	OrgID     string       `yaml:"org_id" doc:"Organization"`
	ClusterID string       `yaml:"cluster_id" doc:"Cluster"`
}

// used reports whether the settings are more than the empty ones that masters of Determined print.
func (s *ExternalSessions) used() bool { return s != nil && (s.LoginURI != "" || !s.JWTKey.IsZero()) }

// ProxiedServer is a server behind the master.
type ProxiedServer struct {
	Destination string `yaml:"destination" doc:"Address of the server"`
	PathPrefix  string `yaml:"path_prefix" doc:"Path under which it appears"`
}
