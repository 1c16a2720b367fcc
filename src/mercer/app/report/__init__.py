"""The report: pages of HTML that load nothing from elsewhere, and their charts; `pages` alone needs the extra `app`."""
