// kube-storage-version-migrator's two controllers, from their published module. Its own programs also listen on all addresses, on ports that cannot be
// chosen, and send five requests a second.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/kube-storage-version-migrator/pkg/clients/clientset"
	"sigs.k8s.io/kube-storage-version-migrator/pkg/controller"
	"sigs.k8s.io/kube-storage-version-migrator/pkg/trigger"
)

func runTrigger(ctx context.Context, _ *rest.Config, client *clientset.Clientset) error {
	// As its own program has it: hashes are not in the aggregated form of discovery.
	client.DiscoveryClient.UseLegacyDiscovery = true
	trigger.NewMigrationTrigger(client).Run(ctx)
	return nil
}

func runMigrator(ctx context.Context, config *rest.Config, client *clientset.Clientset) error {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	controller.NewKubeMigrator(objects, client).Run(ctx)
	return nil
}

var controllers = map[string]func(context.Context, *rest.Config, *clientset.Clientset) error{
	"trigger":  runTrigger,
	"migrator": runMigrator,
}

func run(name, kubeconfig string) error {
	controller, ok := controllers[name]
	if !ok {
		return fmt.Errorf("there is no controller %q", name)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return controller(ctx, config, client)
}

func main() {
	klog.InitFlags(nil)
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: storage-version-migrator [-v=N] trigger|migrator KUBECONFIG")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
