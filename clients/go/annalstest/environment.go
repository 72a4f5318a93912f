package annalstest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Environment is controller-runtime's envtest.Environment with annals in the place of kube-apiserver and etcd: fields and methods
// have the same names, and mean the same. A suite changes one line:
//
//	import envtest "annals.dev/clients/go/annalstest"
//
// annals has no CustomResourceDefinitions and calls no webhooks of its own: Start returns an error when some are to be installed.
// What it serves is in docs/reference/api.
type Environment struct {
	// Options of the server, which envtest does not have. The fields below win over them.
	Options Options

	// Config is set by Start. With UseExistingCluster it is used if it is set before.
	Config *rest.Config

	// KubeConfig is set by Start: the content of a file.
	KubeConfig []byte

	// Scheme is of no use here. It is a field for suites that set it.
	Scheme *runtime.Scheme

	// What is to be installed is refused.
	CRDInstallOptions     CRDInstallOptions
	WebhookInstallOptions WebhookInstallOptions
	CRDs                  []*apiextensionsv1.CustomResourceDefinition
	CRDDirectoryPaths     []string
	ErrorIfCRDPathMissing bool

	// DownloadBinaryAssets is refused: annals comes in packages.
	DownloadBinaryAssets         bool
	DownloadBinaryAssetsVersion  string
	DownloadBinaryAssetsIndexURL string

	// BinaryAssetsDirectory is a folder with annals. It is used if Options.Binary and $ANNALS_BIN say nothing.
	BinaryAssetsDirectory string

	// UseExistingCluster starts nothing, and takes Config, or the kubeconfig that kubectl would take. By default
	// $USE_EXISTING_CLUSTER says it ("true").
	UseExistingCluster *bool

	// ControlPlaneStartTimeout and ControlPlaneStopTimeout are 20 seconds, unless $KUBEBUILDER_CONTROLPLANE_START_TIMEOUT and
	// $KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT say something else.
	ControlPlaneStartTimeout time.Duration
	ControlPlaneStopTimeout  time.Duration

	// AttachControlPlaneOutput shows annals' log on os.Stderr. $KUBEBUILDER_ATTACH_CONTROL_PLANE_OUTPUT ("true") does so, too.
	AttachControlPlaneOutput bool

	server *Server
}

// CRDInstallOptions are envtest's. There is nothing that could be installed.
type CRDInstallOptions struct {
	Scheme             *runtime.Scheme
	Paths              []string
	CRDs               []*apiextensionsv1.CustomResourceDefinition
	ErrorIfPathMissing bool
	MaxTime            time.Duration
	PollInterval       time.Duration
	CleanUpAfterUse    bool
	WebhookOptions     WebhookInstallOptions
}

// WebhookInstallOptions are envtest's. There is nothing that could be installed.
type WebhookInstallOptions struct {
	Paths                        []string
	MutatingWebhooks             []*admissionv1.MutatingWebhookConfiguration
	ValidatingWebhooks           []*admissionv1.ValidatingWebhookConfiguration
	IgnoreSchemeConvertible      bool
	IgnoreErrorIfPathMissing     bool
	LocalServingHost             string
	LocalServingPort             int
	LocalServingCertDir          string
	LocalServingCAData           []byte
	LocalServingHostExternalName string
	MaxTime                      time.Duration
	PollInterval                 time.Duration
}

var (
	errCRDs = errors.New("annals has no CustomResourceDefinitions: leave out CRDs, CRDDirectoryPaths and CRDInstallOptions, " +
		"or use controller-runtime's envtest for this suite")
	errWebhooks = errors.New("annals alone calls no webhooks: leave out WebhookInstallOptions, " +
		"or use controller-runtime's envtest for this suite")
	errDownload = errors.New("annals is not downloaded: leave out DownloadBinaryAssets, install annals, " +
		"and say where it is with BinaryAssetsDirectory or $" + BinaryVariable)
	errNotStarted = errors.New("the environment has not been started")
)

func (w *WebhookInstallOptions) isEmpty() bool {
	return len(w.Paths)+len(w.MutatingWebhooks)+len(w.ValidatingWebhooks) == 0
}

// check says everything that annals cannot do.
func (te *Environment) check() error {
	var errs []error
	c := &te.CRDInstallOptions
	if len(te.CRDs)+len(te.CRDDirectoryPaths)+len(c.CRDs)+len(c.Paths) > 0 {
		errs = append(errs, errCRDs)
	}
	if !te.WebhookInstallOptions.isEmpty() || !c.WebhookOptions.isEmpty() {
		errs = append(errs, errWebhooks)
	}
	if te.DownloadBinaryAssets {
		errs = append(errs, errDownload)
	}
	return errors.Join(errs...)
}

func timeoutOf(set time.Duration, variable string) (time.Duration, error) {
	text := os.Getenv(variable)
	if set != 0 || text == "" {
		return set, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("$%s: %w", variable, err)
	}
	return d, nil
}

func isTrue(variable string) bool {
	value, err := strconv.ParseBool(os.Getenv(variable))
	return err == nil && value
}

func (te *Environment) options() (Options, error) {
	o := te.Options
	if o.Binary == "" && os.Getenv(BinaryVariable) == "" && te.BinaryAssetsDirectory != "" {
		o.Binary = filepath.Join(te.BinaryAssetsDirectory, "annals")
	}
	if te.AttachControlPlaneOutput || isTrue("KUBEBUILDER_ATTACH_CONTROL_PLANE_OUTPUT") {
		te.AttachControlPlaneOutput = true
		o.Output = os.Stderr
	}
	var startErr, stopErr error
	te.ControlPlaneStartTimeout, startErr = timeoutOf(te.ControlPlaneStartTimeout, "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT")
	te.ControlPlaneStopTimeout, stopErr = timeoutOf(te.ControlPlaneStopTimeout, "KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT")
	if te.ControlPlaneStartTimeout != 0 {
		o.StartTimeout = te.ControlPlaneStartTimeout
	}
	if te.ControlPlaneStopTimeout != 0 {
		o.StopTimeout = te.ControlPlaneStopTimeout
	}
	return o, errors.Join(startErr, stopErr)
}

func (te *Environment) useExistingCluster() bool {
	if te.UseExistingCluster != nil {
		return *te.UseExistingCluster
	}
	return isTrue("USE_EXISTING_CLUSTER")
}

func (te *Environment) useExisting() (*rest.Config, error) {
	if te.Config == nil {
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("unable to get configuration for existing cluster: %w", err)
		}
		te.Config = config
	}
	return te.Config, nil
}

// Start starts a server, and returns the configuration of an administrator. It can be called again after Stop.
func (te *Environment) Start() (*rest.Config, error) {
	if err := te.check(); err != nil {
		return nil, err
	}
	if te.useExistingCluster() {
		return te.useExisting()
	}
	if te.server != nil {
		return nil, errors.New("the environment has been started already")
	}
	o, err := te.options()
	if err != nil {
		return nil, err
	}
	te.server, err = New(o)
	if err != nil {
		return nil, err
	}
	te.Config, te.KubeConfig = te.server.Config, te.server.KubeConfig
	return te.Config, nil
}

// Stop ends the server. Before Start it does nothing.
func (te *Environment) Stop() error {
	if te.server == nil {
		return nil
	}
	err := te.server.Stop()
	te.server = nil
	return err
}

// User is somebody to act as.
type User struct {
	Name   string
	Groups []string
}

// AuthenticatedUser is a User with what is needed to act as them.
type AuthenticatedUser struct {
	config     *rest.Config
	kubeConfig []byte
}

// Config is the user's.
func (u *AuthenticatedUser) Config() *rest.Config {
	return u.config
}

// KubeConfig is the user's, for kubectl and others.
func (u *AuthenticatedUser) KubeConfig() ([]byte, error) {
	return u.kubeConfig, nil
}

// AddUser lets somebody in: the administrator acts as them, by impersonation. What they may do is for the server's policy to say.
// base has settings for the result, such as QPS; it may be nil.
func (te *Environment) AddUser(user User, base *rest.Config) (*AuthenticatedUser, error) {
	if te.server == nil {
		return nil, errNotStarted
	}
	config := &rest.Config{}
	if base != nil {
		config = rest.CopyConfig(base)
	}
	admin := te.server.Config
	config.Host, config.BearerToken, config.TLSClientConfig = admin.Host, admin.BearerToken, *admin.TLSClientConfig.DeepCopy()
	config.Impersonate = rest.ImpersonationConfig{UserName: user.Name, Groups: user.Groups}
	kubeConfig, err := te.kubeConfigAs(user)
	if err != nil {
		return nil, err
	}
	return &AuthenticatedUser{config: config, kubeConfig: kubeConfig}, nil
}

func (te *Environment) kubeConfigAs(user User) ([]byte, error) {
	config, err := clientcmd.Load(te.server.KubeConfig)
	if err != nil {
		return nil, err
	}
	for _, info := range config.AuthInfos {
		setUser(info, user)
	}
	return clientcmd.Write(*config)
}

func setUser(info *clientcmdapi.AuthInfo, user User) {
	info.Impersonate, info.ImpersonateGroups = user.Name, user.Groups
}
