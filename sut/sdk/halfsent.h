/* Announces a boundary of one's own to Halfsent, from C. Copy this file; there is nothing to link.
 *
 *     halfsent_at("rendered", digest_key);
 *     halfsent_at("rendered", NULL);        // of the job that this worker holds
 *
 * Elsewhere it is one failed look-up. Keeps errno, allocates nothing, may be called from any thread. */
#ifndef HALFSENT_H
#define HALFSENT_H

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static inline void halfsent_at(const char* name, const char* key) {
  enum { start = sizeof "/halfsent/at/" - 1 };
  const int before = errno;
  char path[4096];
  int i;
  (void)snprintf(path, sizeof path, "/halfsent/at/%s", name);
  for (i = start; path[i] != '\0'; ++i) {
    if (path[i] == '/') path[i] = '_';
  }
  if (key != NULL) (void)snprintf(path + i, sizeof path - (size_t)i, "/%s", key);
  (void)access(path, F_OK);
  errno = before;
}

#endif
