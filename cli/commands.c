/* One list of all commands, which the overview, help, completion and manuals follow. */
#include "cli/commands.h"

const struct command *const commands[] = {&command_up, &command_serve, &command_controllers, &command_certs, &command_doctor,
	&command_fsck, &command_export, &command_import, &command_kubectl, &command_completion, &command_version, NULL};

const struct command *commands_find(struct str name)
{
	for (size_t i = 0; commands[i]; i++) {
		if (str_is(name, commands[i]->name)) {
			return commands[i];
		}
	}
	return NULL;
}
