/* A path is compared with the names that there are, and never becomes one of the file system: there
 * is nothing to climb out of. */
#include "cli/ui/files.h"

const struct page_file *page_file_find(struct str path)
{
	struct str name = path.n ? path : STR("index.html");
	for (size_t i = 0; i < n_page_files; i++) {
		if (str_is(name, page_files[i].name)) {
			return &page_files[i];
		}
	}
	return NULL;
}

bool header_has(struct str list, const char *element)
{
	struct str each;
	while (list.n > 0) {
		str_cut(list, ',', &each, &list);
		if (str_is(str_trim(each), element)) {
			return true;
		}
	}
	return false;
}
